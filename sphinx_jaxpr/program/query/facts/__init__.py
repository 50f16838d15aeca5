"""Facts of values and equations that paths name, and the closed words among them."""
