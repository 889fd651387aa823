using System.Buffers;
using System.Buffers.Binary;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>Bytes of a client, and an association that is fed with them.</summary>
internal static class Conversation
{
    public static readonly Guid Service = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f");

    public static byte[] Bind(ushort fragment = 5840, Guid? service = null, uint callId = 1) => new BindPdu(
        fragment, fragment, 0, [
            new ContextProposal(0, SyntaxId.Interface(service ?? Service), [SyntaxId.Ndr])])
        .ToBytes(PduType.Bind, callId);

    public static byte[] RequestStub(ReadOnlySpan<byte> payload)
    {
        byte[] stub = new byte[ExecStub.RequestPrefix + payload.Length];
        ExecStub.WriteRequestPrefix(stub, payload.Length);
        payload.CopyTo(stub.AsSpan(ExecStub.RequestPrefix));
        return stub;
    }

    public static byte[] Request(ReadOnlySpan<byte> payload, uint callId = 2) =>
        Fragment(RequestStub(payload), PduFlags.Single, callId);

    public static byte[] Fragment(
        ReadOnlySpan<byte> stub, PduFlags flags, uint callId = 2, ushort context = 0, ushort operation = 0)
    {
        byte[] pdu = new byte[PduHeader.CallSize + stub.Length];
        CallPdu.Write(pdu, PduType.Request, flags, stub.Length, callId, (uint)stub.Length, context);
        BinaryPrimitives.WriteUInt16LittleEndian(pdu.AsSpan(22), operation);
        stub.CopyTo(pdu.AsSpan(PduHeader.CallSize));
        return pdu;
    }

    public static byte[] Join(params byte[][] parts) => [.. parts.SelectMany(part => part)];

    public static ServerAssociation Server(RpcLimits? limits = null) =>
        new(limits ?? RpcLimits.Default, "135", id => id == Service);

    /// <summary>Feeds bytes and lets every call echo.</summary>
    /// <returns>What the server sends.</returns>
    public static byte[] Feed(this ServerAssociation server, ReadOnlySpan<byte> bytes)
    {
        List<byte> output = [];
        while (true)
        {
            ServerStep step = server.Step();
            if (step == ServerStep.Receive)
            {
                if (bytes.IsEmpty)
                {
                    return [.. output];
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
                output.AddRange(sent.Span);
            }

            if (step == ServerStep.Close)
            {
                return [.. output];
            }

            server.EndCall();
        }
    }

    public static bool IsClosed(this ServerAssociation server) => server.Step() == ServerStep.Close;

    /// <summary>A copy with every integer and UUID of a bind or single request turned to
    /// big-endian.</summary>
    public static byte[] BigEndian(byte[] pdu)
    {
        byte[] turned = [.. pdu];
        turned[4] = 0;
        void Turn(int offset, int size) => turned.AsSpan(offset, size).Reverse();
        void TurnSyntax(int offset)
        {
            Turn(offset, 4);
            Turn(offset + 4, 2);
            Turn(offset + 6, 2);
            Turn(offset + 16, 4);
        }

        Turn(8, 2);
        Turn(10, 2);
        Turn(12, 4);
        if ((PduType)pdu[2] == PduType.Bind)
        {
            Turn(16, 2);
            Turn(18, 2);
            Turn(20, 4);
            Turn(28, 2);
            TurnSyntax(32);
            TurnSyntax(52);
        }
        else
        {
            Turn(16, 4);
            Turn(20, 2);
            Turn(22, 2);
            Turn(24, 4);
            Turn(28, 4);
        }

        return turned;
    }
}
