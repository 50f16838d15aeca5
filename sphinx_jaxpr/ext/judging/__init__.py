"""From what pages ask for to outcomes, verdicts and findings: one build's traces and checks."""
