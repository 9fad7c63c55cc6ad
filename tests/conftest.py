from hypothesis import settings

# No test asserts a time. A failure prints what it takes to repeat it.
settings.register_profile("tokengap", deadline=None, print_blob=True)
settings.load_profile("tokengap")
