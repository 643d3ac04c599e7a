"""What `lint` does with its request; `findings` has the writers of `lint` and `pub --lint`. Must not import paho."""
