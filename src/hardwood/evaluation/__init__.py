"""How good a tree is under attack: metrics, adversarial examples and radii, explanations, comparisons."""
