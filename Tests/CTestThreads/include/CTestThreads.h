// Nothing to call: what threads.c does happens when the tests are loaded.
