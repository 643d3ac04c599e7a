"""Questions of those who operate a fleet: how clients come and go, fall silent, and differ from their own past."""
