"""What people and programs read: the annotated dump, the JSON record, the terminal."""
