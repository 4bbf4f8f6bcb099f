"""Parameters of a chain: Dirichlet rows, their concentrations, and tables that a user gives."""
