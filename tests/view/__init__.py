"""Tests of mqttpub.view."""
