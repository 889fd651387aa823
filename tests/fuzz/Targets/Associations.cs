using System.Buffers;
using System.Net;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Both ends of a native conversation, without a socket.</summary>
internal static class Associations
{
    public static readonly Guid Service = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f");
    public static readonly NetworkCredential Credential = new("User", "Password", "DOMAIN");
    private const ushort Fragment = 5840;
    private static readonly RpcEndpoint Endpoint = RpcEndpoint.Tcp("127.0.0.1", 135);

    public static byte[] Bind() => Context(PduType.Bind);

    public static byte[] Alter() => Context(PduType.AlterContext);

    public static byte[] Request(byte[] payload, PduFlags flags)
    {
        byte[] stub = new byte[ExecStub.RequestPrefix + payload.Length];
        ExecStub.WriteRequestPrefix(stub, payload.Length);
        payload.CopyTo(stub, ExecStub.RequestPrefix);
        byte[] pdu = new byte[PduHeader.CallSize + stub.Length];
        CallPdu.Write(pdu, PduType.Request, flags, stub.Length, 2, (uint)stub.Length, 0);
        stub.CopyTo(pdu, PduHeader.CallSize);
        return pdu;
    }

    public static ServerAssociation Server(SecurityPolicy? policy = null) =>
        new(RpcLimits.Default, "135", id => id == Service)
        {
            Security = policy is null
                ? ServerSecurity.Open
                : new ServerSecurity(_ => policy, static () => PeerIdentity.Anonymous("10.0.0.1:5")),
        };

    public static ClientAssociation Client(RpcProtectionLevel? level = null) =>
        new(Endpoint, Service, RpcLimits.Default)
        {
            Security = level is null ? null : new ClientSecurity(Endpoint, ClientLogin.Prepare(
                Endpoint,
                new RpcClientSecurity
                {
                    Authentication = RpcClientAuthentication.User,
                    Credential = Credential,
                    Mechanism = RpcMechanism.Ntlm,
                    ProtectionLevel = level.Value,
                })!),
        };

    /// <summary>Feeds a server and lets every call echo.</summary>
    /// <returns>What the server sends.</returns>
    public static byte[] Feed(ServerAssociation server, ReadOnlySpan<byte> bytes)
    {
        ArrayBufferWriter<byte> output = new();
        while (true)
        {
            ServerStep step = server.Step();
            if (step == ServerStep.Receive)
            {
                if (bytes.IsEmpty)
                {
                    return output.WrittenSpan.ToArray();
                }

                Span<byte> free = server.GetFreeMemory().Span;
                int count = Math.Min(free.Length, bytes.Length);
                bytes[..count].CopyTo(free);
                server.Advance(count);
                bytes = bytes[count..];
                continue;
            }

            if (step == ServerStep.Call)
            {
                server.Reply.Write(server.Request.Span);
                server.CompleteCall(0);
            }

            while (server.TryTakeOutput(out ReadOnlyMemory<byte> sent))
            {
                output.Write(sent.Span);
            }

            if (step == ServerStep.Close)
            {
                return output.WrittenSpan.ToArray();
            }

            server.EndCall();
        }
    }

    /// <summary>Feeds a client, which makes a call whenever it can.</summary>
    /// <returns>Replies and faults that it got.</returns>
    public static int Feed(ClientAssociation client, PooledMessageBytes request, ReadOnlySpan<byte> bytes)
    {
        int answers = 0;
        while (true)
        {
            switch (client.Step())
            {
                case ClientStep.Reply or ClientStep.Fault:
                    answers++;
                    client.BeginCall(request);
                    break;
                case ClientStep.Bound:
                    client.BeginCall(request);
                    break;
                case ClientStep.Receive when bytes.IsEmpty:
                    return answers;
                case ClientStep.Receive:
                    Span<byte> free = client.GetFreeMemory().Span;
                    int count = Math.Min(free.Length, bytes.Length);
                    bytes[..count].CopyTo(free);
                    client.Advance(count);
                    bytes = bytes[count..];
                    break;
                default:
                    while (client.TryTakeOutput(out _))
                    {
                    }

                    break;
            }
        }
    }

    /// <summary>Takes what a client sends.</summary>
    public static byte[] Output(ClientAssociation client)
    {
        ArrayBufferWriter<byte> sent = new();
        while (client.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
        {
            sent.Write(bytes.Span);
        }

        return sent.WrittenSpan.ToArray();
    }

    private static byte[] Context(PduType type) => new BindPdu(
        Fragment, Fragment, 0, [new ContextProposal(0, SyntaxId.Interface(Service), [SyntaxId.Ndr])])
        .ToBytes(type, 1);
}
