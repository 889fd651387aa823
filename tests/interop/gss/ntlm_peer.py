"""NTLM by gss-ntlmssp, one side of one authentication, a command a line; octets are in hexadecimal.

    ntlm_peer.py initiate USER_FILE DOMAIN\\USER     (or accept USER_FILE)

step TOKEN       -> token TOKEN more|complete
who              -> who NAME
sign MESSAGE     -> signature OCTETS
verify MESSAGE SIGNATURE -> verified
seal MESSAGE     -> sealed OCTETS
open SEALED      -> opened MESSAGE
Whatever fails   -> error TEXT
"""
import os
import sys

role, user_file = sys.argv[1:3]
os.environ["NTLM_USER_FILE"] = user_file

import gssapi  # noqa: E402 - it reads the environment of the process

NTLM = gssapi.OID.from_int_seq("1.3.6.1.4.1.311.2.2.10")
FLAGS = [
    gssapi.RequirementFlag.integrity,
    gssapi.RequirementFlag.confidentiality,
    gssapi.RequirementFlag.out_of_sequence_detection,
    gssapi.RequirementFlag.replay_detection,
]


def begin():
    if role == "initiate":
        user = gssapi.Name(sys.argv[3], gssapi.NameType.user)
        credential = gssapi.Credentials(name=user, mechs=[NTLM], usage="initiate")
        server = gssapi.Name("host@server", gssapi.NameType.hostbased_service)
        return gssapi.SecurityContext(name=server, creds=credential, mech=NTLM, flags=FLAGS, usage="initiate")
    return gssapi.SecurityContext(creds=gssapi.Credentials(mechs=[NTLM], usage="accept"), usage="accept")


def answer(command, *octets):
    global context
    values = [bytes.fromhex(value) for value in octets]
    if command == "step":
        token = context.step(values[0] if values and values[0] else None)
        return f"token {(token or b'').hex()} {'complete' if context.complete else 'more'}"
    if command == "who":
        # The library counts the end of its text.
        return f"who {str(context.initiator_name).rstrip(chr(0))}"
    if command == "sign":
        return f"signature {context.get_signature(values[0]).hex()}"
    if command == "verify":
        context.verify_signature(values[0], values[1])
        return "verified"
    if command == "seal":
        return f"sealed {context.wrap(values[0], True).message.hex()}"
    if command == "open":
        opened = context.unwrap(values[0])
        return f"opened {opened.message.hex()}" if opened.encrypted else "error not encrypted"
    return f"error unknown command {command}"


context = begin()
print("ready", flush=True)
for line in sys.stdin:
    try:
        print(answer(*line.rstrip("\n").split(" ")), flush=True)
    except Exception as problem:
        print("error", " ".join(str(problem).split()), flush=True)
