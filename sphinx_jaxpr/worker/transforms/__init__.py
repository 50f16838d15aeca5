"""The built-in transforms: each turns a stage into the next one."""
