"""What NVIDIA Dynamo's frontend tells of the requests it served."""
