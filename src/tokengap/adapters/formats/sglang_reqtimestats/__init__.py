"""What SGLang's scheduler logs of the requests it is done with."""
