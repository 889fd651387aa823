using ProtoRpc.Security;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Describes the headers of PDUs. Only the lengths of stubs and authentication values are shown,
/// because they contain users' messages and proofs.</summary>
internal static class PduTrace
{
    private const int MaxContexts = 8;

    /// <summary>Traces whole PDUs, if the trace is enabled.</summary>
    public static void Record(RpcTrace? trace, RpcEndpoint endpoint, bool isSent, ReadOnlySpan<byte> pdus)
    {
        if (trace is { IsEnabled: true })
        {
            Write(trace, endpoint, isSent, pdus);
        }
    }

    /// <summary>Traces whole PDUs, one after the other.</summary>
    /// <param name="trace">The trace.</param>
    /// <param name="endpoint">The endpoint of the client or the listener.</param>
    /// <param name="isSent">Whether they are sent.</param>
    /// <param name="pdus">The bytes of the PDUs.</param>
    public static void Write(RpcTrace trace, RpcEndpoint endpoint, bool isSent, ReadOnlySpan<byte> pdus)
    {
        while (pdus.Length >= PduHeader.Size)
        {
            PduHeader header = PduHeader.Read(pdus);
            int length = header.FragmentLength;
            if (length < PduHeader.Size || length > pdus.Length
                || PduHeader.Size + header.TrailerLength > length)
            {
                break;
            }

            trace.Add(isSent, endpoint, TextOf(header, pdus[..length]));
            pdus = pdus[length..];
        }

        if (!pdus.IsEmpty)
        {
            trace.Add(isSent, endpoint, $"{pdus.Length} bytes that are no PDU");
        }
    }

    /// <summary>A PDU in one line.</summary>
    public static string TextOf(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        StringBuilder text = new();
        text.Append($"{header.Type} call {header.CallId}, {header.FragmentLength} bytes, ")
            .Append($"flags {header.Flags}");
        switch (header.Type)
        {
            case PduType.Bind or PduType.AlterContext when BindPdu.Read(header, pdu) is { } bind:
                text.Append(
                    $", fragments {bind.MaxTransmit}/{bind.MaxReceive}, group {bind.AssociationGroup}");
                Add(text, bind.Contexts, context => $"context {context.Id} {context.Interface.Id}");
                break;
            case PduType.BindAck or PduType.AlterContextResponse
                when BindAckPdu.Read(header, pdu) is { } answer:
                text.Append(
                    $", fragments {answer.MaxTransmit}/{answer.MaxReceive}, group {answer.AssociationGroup}");
                Add(text, answer.Results, result => $"{result.Result} {result.Reason}");
                break;
            case PduType.Request or PduType.Response when CallPdu.TryRead(header, pdu, out CallPdu call):
                text.Append($", context {call.ContextId}, operation {call.Operation}, ")
                    .Append($"stub {call.StubLength} bytes");
                break;
            case PduType.Fault when FaultPdu.TryReadStatus(header, pdu, out uint status):
                text.Append($", status 0x{status:X8} ({RpcStatusTable.OfNativeStatus(status).Meaning})");
                break;
        }

        if (AuthTrailer.TryRead(header, pdu, PduHeader.Size, out AuthTrailer trailer))
        {
            text.Append(
                $", verifier {SecurityPackage.NameOf(trailer.Type)} level {trailer.Level}, "
                + $"{header.AuthLength} bytes");
        }

        return text.ToString();
    }

    private static void Add<T>(StringBuilder text, IReadOnlyList<T> items, Func<T, string> textOf)
    {
        foreach (T item in items.Take(MaxContexts))
        {
            text.Append(", ").Append(textOf(item));
        }

        if (items.Count > MaxContexts)
        {
            text.Append($", and {items.Count - MaxContexts} more");
        }
    }
}
