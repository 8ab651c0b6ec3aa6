"""Third-party engines: the child process they run in, and what they are told."""
