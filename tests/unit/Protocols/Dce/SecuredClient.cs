using System.Buffers;
using System.Net;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>A client association that proves who calls, and talks to a server association.</summary>
internal static class SecuredClient
{
    public static readonly RpcEndpoint Endpoint = RpcEndpoint.Tcp("127.0.0.1", 135);

    public static ClientAssociation New(
        RpcProtectionLevel level, NetworkCredential? credential = null,
        RpcMechanism mechanism = RpcMechanism.Ntlm) =>
        new(Endpoint, Conversation.Service, RpcLimits.Default)
        {
            Security = new ClientSecurity(Endpoint, ClientLogin.Prepare(Endpoint, new RpcClientSecurity
            {
                Authentication = RpcClientAuthentication.User,
                Credential = credential ?? NtlmVectors.Credential,
                Mechanism = mechanism,
                ProtectionLevel = level,
            })!),
        };

    /// <summary>Binds.</summary>
    /// <returns>What the client sent that was answered.</returns>
    public static List<PduType> Converse(ClientAssociation client, ServerAssociation server, byte[] bind)
    {
        List<PduType> sent = [];
        byte[] pdu = bind;
        while (true)
        {
            sent.Add(PduHeader.Read(pdu).Type);
            ClientStep step = Deliver(client, server.Feed(pdu));
            pdu = Output(client);
            if (step == ClientStep.Bound)
            {
                Assert.Empty(server.Feed(pdu));
                return sent;
            }

            Assert.Equal(ClientStep.Send, step);
        }
    }

    public static byte[] Request(ClientAssociation client, ReadOnlySpan<byte> payload)
    {
        using PooledMessageBytes request = new(
            1 << 20, "request", ClientAssociation.RequestPrefix, ClientAssociation.RequestSuffix);
        request.Write(payload);
        client.BeginCall(request);
        return Output(client);
    }

    public static ClientStep Deliver(ClientAssociation client, byte[] bytes)
    {
        ClientStep step = ClientStep.Receive;
        for (int start = 0; start < bytes.Length;)
        {
            Memory<byte> free = client.GetFreeMemory();
            int count = Math.Min(free.Length, bytes.Length - start);
            bytes.AsSpan(start, count).CopyTo(free.Span);
            client.Advance(count);
            start += count;
            step = client.Step();
        }

        return step;
    }

    public static byte[] Output(ClientAssociation client)
    {
        List<byte> sent = [];
        while (client.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
        {
            sent.AddRange(bytes.Span);
        }

        return [.. sent];
    }
}
