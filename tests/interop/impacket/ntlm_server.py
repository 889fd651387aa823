"""A DCE/RPC server whose Exec echoes to whom NTLM proves: ntlm_server.py INTERFACE-ID DOMAIN USER PASSWORD

Says its port and ends with its input. The PDUs are put together here; the cryptography is impacket's.
"""
import os
import socket
import struct
import sys
import threading

from Cryptodome.Cipher import ARC4
from impacket import ntlm

BIND, BIND_ACK, AUTH3, REQUEST, RESPONSE, FAULT = 11, 12, 16, 0, 2, 3
FIRST_AND_LAST = 3
ACCESS_DENIED = 5
INTEGRITY, PRIVACY = 5, 6
NDR = bytes.fromhex('045d888aeb1cc9119fe808002b10486002000000')
STUB = 24
SIGNATURE = 16
FLAGS = (
    ntlm.NTLMSSP_NEGOTIATE_UNICODE | ntlm.NTLMSSP_NEGOTIATE_NTLM | ntlm.NTLMSSP_NEGOTIATE_SIGN
    | ntlm.NTLMSSP_NEGOTIATE_SEAL | ntlm.NTLMSSP_NEGOTIATE_ALWAYS_SIGN | ntlm.NTLMSSP_NEGOTIATE_128
    | ntlm.NTLMSSP_NEGOTIATE_EXTENDED_SESSIONSECURITY | ntlm.NTLMSSP_NEGOTIATE_KEY_EXCH
    | ntlm.NTLMSSP_NEGOTIATE_TARGET_INFO | ntlm.NTLMSSP_REQUEST_TARGET | ntlm.NTLMSSP_TARGET_TYPE_SERVER)


class Direction:
    """One direction of a connection: its keys, its stream and its count."""

    def __init__(self, key, who):
        self.signing = ntlm.SIGNKEY(FLAGS, key, who)
        self.sealing = ntlm.SEALKEY(FLAGS, key, who)
        self.stream = ARC4.new(self.sealing).encrypt
        self.count = 0

    def sign(self, data):
        signature = ntlm.SIGN(FLAGS, self.signing, data, self.count, self.stream)
        self.count += 1
        return signature.getData()


class Connection:
    def __init__(self, sock, account):
        self.sock = sock
        self.domain, self.user, self.password = account
        self.challenge = os.urandom(8)
        self.received = self.sent = None

    def serve(self):
        stub = b''
        while True:
            header = self.read(16)
            if header is None:
                return
            kind, flags = header[2], header[3]
            length, auth_length, call = struct.unpack_from('<HHI', header, 8)
            pdu = header + self.read(length - 16)
            if kind == BIND:
                self.trailer = pdu[-auth_length - 8:-auth_length]
                self.sock.sendall(self.bind_ack(pdu, call))
            elif kind == AUTH3:
                self.prove(pdu[-auth_length:])
            elif kind == REQUEST:
                part = self.unprotect(pdu, auth_length) if self.received else None
                if part is None:
                    self.sock.sendall(self.pdu(FAULT, call, struct.pack('<IHBBII', 0, 0, 0, 0, ACCESS_DENIED, 0)))
                    return
                stub += part
                if flags & 2:
                    self.sock.sendall(self.response(call, execute(stub)))
                    stub = b''

    def read(self, count):
        data = b''
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                return None
            data += part
        return data

    def pdu(self, kind, call, body, token=b''):
        trailer = b''
        if token:
            body += b'\0' * (-len(body) % 4)
            trailer = self.trailer[:2] + b'\0\0' + self.trailer[4:]
        size = 16 + len(body) + len(trailer) + len(token)
        header = struct.pack('<BBBBIHHI', 5, 0, kind, FIRST_AND_LAST, 0x10, size, len(token), call)
        return header + body + trailer + token

    def bind_ack(self, bind, call):
        address = b'0\0'
        body = struct.pack('<HHIH', 5840, 5840, 1, len(address)) + address
        contexts = bind[24]
        results = b''
        offset = 28
        for _ in range(contexts):
            syntaxes = bind[offset + 2]
            accepted = bind[offset + 24:offset + 44] == NDR
            results += struct.pack('<HH', 0, 0) + NDR if accepted else struct.pack('<HH', 2, 2) + b'\0' * 20
            offset += 24 + 20 * syntaxes
        body += b'\0' * (-(16 + len(body)) % 4) + struct.pack('<BBH', contexts, 0, 0) + results
        return self.pdu(BIND_ACK, call, body, self.challenge_message())

    def challenge_message(self):
        name = 'PEER'.encode('utf-16le')
        pairs = ntlm.AV_PAIRS()
        for which in (ntlm.NTLMSSP_AV_HOSTNAME, ntlm.NTLMSSP_AV_DOMAINNAME, ntlm.NTLMSSP_AV_DNS_HOSTNAME):
            pairs[which] = name
        information = pairs.getData()
        message = b'NTLMSSP\0' + struct.pack('<IHHII', 2, len(name), len(name), 48, FLAGS) + self.challenge
        message += b'\0' * 8 + struct.pack('<HHI', len(information), len(information), 48 + len(name))
        return message + name + information

    def prove(self, token):
        answer = ntlm.NTLMAuthChallengeResponse()
        answer.fromString(token)
        key = ntlm.NTOWFv2(self.user, self.password, self.domain)
        proof, blob = answer['ntlm'][:16], answer['ntlm'][16:]
        same = (answer['user_name'].decode('utf-16le'), answer['domain_name'].decode('utf-16le')) == (
            self.user, self.domain)
        if not same or ntlm.hmac_md5(key, self.challenge + blob) != proof:
            return
        offset, = struct.unpack_from('<I', token, 56)
        exported = ARC4.new(ntlm.hmac_md5(key, proof)).decrypt(token[offset:offset + 16])
        self.received, self.sent = Direction(exported, 'Client'), Direction(exported, 'Server')

    def unprotect(self, pdu, auth_length):
        level = self.trailer[1]
        if level < INTEGRITY:
            return pdu[STUB:-auth_length - 8 - pdu[-auth_length - 6]] if auth_length else pdu[STUB:]
        if auth_length != SIGNATURE:
            return None
        end = len(pdu) - auth_length - 8
        data = self.received.stream(pdu[STUB:end]) if level == PRIVACY else pdu[STUB:end]
        plain = pdu[:STUB] + data + pdu[end:end + 8]
        if self.received.sign(plain) != pdu[-auth_length:]:
            return None
        return data[:len(data) - pdu[end + 2]]

    def response(self, call, stub):
        prefix = struct.pack('<IHBB', len(stub), 0, 0, 0)
        level = self.trailer[1]
        if level < INTEGRITY:
            return self.pdu(RESPONSE, call, prefix + stub)
        padding = -len(stub) % 16
        data = stub + b'\0' * padding
        trailer = self.trailer[:2] + bytes((padding, 0)) + self.trailer[4:]
        size = STUB + len(data) + 8 + SIGNATURE
        head = struct.pack('<BBBBIHHI', 5, 0, RESPONSE, FIRST_AND_LAST, 0x10, size, SIGNATURE, call) + prefix
        shown = self.sent.stream(data) if level == PRIVACY else data
        return head + shown + trailer + self.sent.sign(head + data + trailer)


def execute(stub):
    size, count = struct.unpack_from('<ii', stub)
    assert size == count
    payload = stub[8:8 + size]
    padding = b'\0' * (-(12 + size) % 4)
    return struct.pack('<iIi', size, 0x20000, size) + payload + padding + struct.pack('<I', 0)


def accept(listener, account):
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=Connection(sock, account).serve, daemon=True).start()


listening = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=accept, args=(listening, sys.argv[2:5]), daemon=True).start()
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
