"""A DCE/RPC server whose Exec echoes: exec_server.py INTERFACE-ID; says its port, ends with its input."""
import struct
import sys

from impacket.dcerpc.v5.rpcrt import (
    DCERPCServer, MSRPC_REQUEST, MSRPCHeader, PFC_FIRST_FRAG, PFC_LAST_FRAG)

HEADER = 16
CALL_HEADER = 24
STUB_PART = 4256


class ExecServer(DCERPCServer):
    def read(self, count):
        data = b''
        while len(data) < count:
            part = self._clientSock.recv(count - len(data))
            if not part:
                return None
            data += part
        return data

    def recv(self):
        # The library's own method keeps the last fragment only. Its messages have the length of a fragment,
        # so what is put together here has less than 64 KiB.
        whole = b''
        while True:
            header = self.read(HEADER)
            if header is None:
                return None
            pdu = header + self.read(MSRPCHeader(header)['frag_len'] - HEADER)
            kind, flags = pdu[2], pdu[3]
            whole = whole + pdu[CALL_HEADER:] if whole and kind == MSRPC_REQUEST else pdu
            if flags & PFC_LAST_FRAG:
                return whole[:8] + struct.pack('<H', len(whole)) + whole[10:]

    def send(self, data):
        # The library's own method leaves the whole reply's length in every fragment.
        stub = data['pduData']
        for start in range(0, len(stub), STUB_PART):
            part = stub[start:start + STUB_PART]
            data['flags'] = (PFC_FIRST_FRAG if start == 0 else 0) | (
                PFC_LAST_FRAG if start + len(part) == len(stub) else 0)
            data['pduData'] = part
            data['frag_len'] = CALL_HEADER + len(part)
            self._clientSock.sendall(data.get_packet())


def serve(interface, handle):
    """Answers each call's payload with what handle makes of it."""
    def execute(stub):
        size, count = struct.unpack_from('<ii', stub)
        assert size == count == len(stub) - 8
        reply = handle(stub[8:])
        padding = b'\0' * (-(12 + len(reply)) % 4)
        return struct.pack('<iIi', len(reply), 0x20000, len(reply)) + reply + padding + struct.pack('<I', 0)

    server = ExecServer()
    server.daemon = True
    server.addCallbacks((interface, '1.0'), str(server.getListenPort()), {0: execute})
    server._sock.listen(1)
    server.start()
    print(server.getListenPort(), flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    serve(sys.argv[1], lambda payload: payload)
