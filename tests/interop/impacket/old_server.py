"""A server that answers as the original's does, byte for byte: old_server.py INTERFACE-ID

Says its port; then, for each call, one line with the fields of the request's header as "NUMBER=VALUE". The service
has one method, Send, whose request and reply have a text in field 1; the text says what to answer with:
  context TEXT    a call context with a session id and extension 100, beside the reply
  fail            an exception with everything that the original tells
  quiet           an exception at the level where the original tells nothing
  other           a reply that carries the id of another call
Any other text is echoed. Messages may come in parts.
"""
import sys

from exec_server import serve

SESSION = bytes(range(0xb0, 0xc0))
transfers = {}


def varint(value):
    value &= (1 << 64) - 1
    out = b''
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def read(data):
    fields, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            assert tag & 7 == 0, 'a wire type that the original never wrote'
        fields[tag >> 3] = value
    return fields


def failure():
    inner = (field(1, 'mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089')
             + field(2, 'System.IO.IOException') + field(3, 1) + field(4, 'System.IO.IOException')
             + field(5, 'The disk is full.') + field(12, -2146232800))
    return (field(1, 'mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089')
            + field(2, 'System.ArgumentException') + field(3, 1) + field(4, 'System.ArgumentException')
            + field(5, 'Cannot save.') + field(6, inner) + field(7, 'http://help.example/')
            + field(8, '   at Shop.Save()') + field(10, 0) + field(11, '8\nSave\nShop') + field(12, -2147024809)
            + field(13, 'Shop') + field(14, field(1, 'ParamName') + field(2, 'System.String') + field(3, 'order')))


def call(method, body):
    """Body of the reply, and what else its header has."""
    if method == '.multi':
        part = read(body)
        name, status = part[2], part.get(1, 2)
        if status == 2:
            transfers.pop(name, None)
            return field(1, 0), b''
        whole = transfers.get(name, b'')
        assert part[5] == len(whole) and part[6] == len(part[7]) and len(whole) + part[6] <= part[4], 'parts'
        whole += part[7]
        if status == 1:
            transfers[name] = whole
            return field(1, 1), b''
        assert len(whole) == part[4], 'not all came'
        transfers.pop(name, None)
        reply, header = call(part[3].decode(), whole)
        return field(2, reply), header
    if method == '.close':
        return b'', b''
    text = read(body)[1].decode()
    if text.startswith('context '):
        return field(1, text), field(5, field(1, SESSION) + field(100, text[8:]))
    if text == 'fail':
        return b'', field(7, 0) + field(8, failure())
    if text == 'quiet':
        return b'', field(7, 0) + field(8, b'')
    return field(1, text), b''


def handle(payload):
    size, at = read_varint(payload, 0)
    header, body = read(payload[at:at + size]), payload[at + size:]
    print(' '.join('%d=%s' % (number, value if isinstance(value, int) else value.hex())
                   for number, value in header.items()), flush=True)
    reply, rest = call(header[2].decode(), body)
    message_id = header[3] if read(body).get(1) != b'other' else bytes(16)
    # In the order of the fields' numbers, as the original writes them.
    context, failed = (rest, b'') if rest[:1] == b'\x2a' else (b'', rest)
    answer = context + field(6, message_id) + failed
    return varint(len(answer)) + answer + reply


serve(sys.argv[1], handle)
