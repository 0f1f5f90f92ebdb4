"""Methods that turn a table into a safer one."""
