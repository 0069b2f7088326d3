"""Fits the trained corpus scorer on labelled queries; no service imports it and nothing here runs while answering."""
