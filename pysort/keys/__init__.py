"""Sort keys: as the user wrote them (spec), the locale's part (locale), the kernel's program."""
