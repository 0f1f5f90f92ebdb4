"""Linear and integer programs; knows no disclosure word."""
