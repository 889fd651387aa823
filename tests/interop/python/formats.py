"""Converts messages between formats with Python's protobuf: a JSON request on each line, an answer on each line.

The argument is a descriptor set. A request has "type", "from" and "to" (binary, json or text) and "data"; binary data
is base64. The answer has "data", or "error".
"""
import base64
import json
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, text_format

pool = descriptor_pool.DescriptorPool()
with open(sys.argv[1], "rb") as file:
    files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
for file in files.file:
    pool.Add(file)
factory = message_factory.MessageFactory(pool)
messages = factory.GetMessages([file.name for file in files.file])
# The factory leaves out extensions that are declared in messages within messages, and the messages in them.
for message in messages.values():
    for extension in pool.FindAllExtensions(message.DESCRIPTOR):
        message.RegisterExtension(extension)
        if extension.message_type:
            factory.GetPrototype(extension.message_type)


def read(name, form, data):
    message = messages[name]()
    if form == "json":
        return json_format.Parse(data, message, descriptor_pool=pool)
    if form == "text":
        return text_format.Parse(data, message, descriptor_pool=pool)
    message.ParseFromString(base64.b64decode(data))
    return message


def write(message, form):
    if form == "json":
        return json_format.MessageToJson(message, indent=None, descriptor_pool=pool)
    if form == "text":
        return text_format.MessageToString(message, descriptor_pool=pool)
    return base64.b64encode(message.SerializeToString()).decode()


for line in sys.stdin:
    request = json.loads(line)
    try:
        message = read(request["type"], request["from"], request["data"])
        answer = {"data": write(message, request["to"])}
    except Exception as error:
        answer = {"error": "%s: %s" % (type(error).__name__, error)}
    print(json.dumps(answer), flush=True)
