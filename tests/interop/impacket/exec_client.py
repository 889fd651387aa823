"""A DCE/RPC client of the Exec interface: exec_client.py PORT INTERFACE-ID [LEVEL DOMAIN USER PASSWORD [TYPE]]

With a level (2 connect, 5 integrity, 6 privacy) it authenticates by NTLM, or without a password by the ticket for
the service in KRB5CCNAME. NTLM goes under authentication type 10, or another TYPE.

Says "bound" or what kept it from binding, then answers each line of its input with one line:
  call OPNUM HEX    calls with these bytes as the payload: "reply RETURN-CODE HEX" or "fault NAME"
  stub OPNUM HEX    the same with these bytes as the whole stub
  fragment SIZE     cuts requests into fragments with at most SIZE octets of stub
"""
import struct
import sys

from impacket.dcerpc.v5 import rpcrt, transport
from impacket.dcerpc.v5.rpcrt import RPC_C_AUTHN_GSS_NEGOTIATE, DCERPCException
from impacket.uuid import uuidtup_to_bin


def encode(payload):
    return struct.pack('<ii', len(payload), len(payload)) + payload


def decode(stub):
    size, pointer = struct.unpack_from('<iI', stub)
    payload, end = b'', 8
    if pointer:
        count, = struct.unpack_from('<i', stub, 8)
        assert count == size, 'max_count differs from plReturnSize'
        payload, end = stub[12:12 + size], (12 + size + 3) // 4 * 4
    assert len(stub) == end + 4, 'the stub does not end after the return code'
    return struct.unpack_from('<I', stub, end)[0], payload


def main(port, interface, level=None, domain='', user='', password='', ntlm_type=None):
    if ntlm_type:
        # Its own numbers decide both what it does and what it says.
        rpcrt.RPC_C_AUTHN_GSS_NEGOTIATE = None
        rpcrt.RPC_C_AUTHN_WINNT = int(ntlm_type)
    dce = transport.DCERPCTransportFactory('ncacn_ip_tcp:127.0.0.1[%s]' % port).get_dce_rpc()
    if level:
        dce.set_credentials(user, password, domain)
        if not password:
            dce.set_auth_type(RPC_C_AUTHN_GSS_NEGOTIATE)
        dce.set_auth_level(int(level))
    dce.connect()
    try:
        dce.bind(uuidtup_to_bin((interface, '1.0')))
    except DCERPCException as e:
        print('not bound:', e, flush=True)
        return
    print('bound', flush=True)
    for line in sys.stdin:
        verb, number, *rest = line.rstrip('\n').split(' ')
        if verb == 'fragment':
            dce.set_max_fragment_size(int(number))
            print(verb, number, flush=True)
            continue
        data = bytes.fromhex(rest[0])
        try:
            dce.call(int(number), encode(data) if verb == 'call' else data)
            code, payload = decode(dce.recv())
            print('reply', code, payload.hex(), flush=True)
        except DCERPCException as e:
            print('fault', e.get_error_code() or e, flush=True)


main(*sys.argv[1:])
