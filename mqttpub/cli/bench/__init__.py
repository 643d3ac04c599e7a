"""What `bench` does with the benchmark that its flags make; `live.bench` measures."""
