"""The report: one HTML file per archive or task that opens offline.

``page`` is imported by whoever writes one: it imports matplotlib, which takes half a second.
"""
