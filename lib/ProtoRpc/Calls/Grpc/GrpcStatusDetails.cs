using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Calls.Grpc.Proto;
using ProtoRpc.Messages;
using ProtoRpc.Schema;
using ProtoRpc.Wire.Grpc;
using Status = ProtoRpc.Calls.Grpc.Proto.Status;

namespace ProtoRpc.Calls.Grpc;

/// <summary>The details of a status: messages of google.rpc, known without a schema, and of others.</summary>
internal static class GrpcStatusDetails
{
    private const string TypePrefix = "type.googleapis.com/";
    private static readonly RpcSchema Known =
        RpcSchema.FromDescriptors(StatusReflection.Descriptor, ErrorDetailsReflection.Descriptor);

    /// <summary>The schema of google.rpc's status and details.</summary>
    public static RpcSchema Schema => Known;

    /// <summary>Reads the header; what cannot be read is left out,
    /// for the status itself counts more.</summary>
    /// <returns>A <see cref="DynamicMessage"/> for each detail; those of unknown types are a
    /// google.protobuf.Any.</returns>
    public static IReadOnlyList<object> Read(string? header)
    {
        if (header is null || GrpcBinaryHeader.Decode(header) is not [byte[] bytes, ..])
        {
            return Array.Empty<object>();
        }

        try
        {
            // An array: a shell cannot index the list that a collection expression makes.
            return Status.Parser.ParseFrom(bytes).Details
                .Select(any => Unpack(any.TypeUrl, any.Value, any)).ToArray<object>();
        }
        catch (InvalidProtocolBufferException)
        {
            return Array.Empty<object>();
        }
    }

    /// <summary>Writes the header; null where there is nothing to tell.</summary>
    public static string? Write(RpcStatusCode code, string message, IReadOnlyList<object> details)
    {
        if (details.Count == 0)
        {
            return null;
        }

        Status status = new() { Code = (int)code, Message = message };
        foreach (IMessage detail in details.OfType<IMessage>())
        {
            status.Details.Add(Pack(detail));
        }

        return GrpcBinaryHeader.Encode(status.ToByteArray());
    }

    // What could not be unpacked when it came is an Any still.
    private static Any Pack(IMessage detail) => detail.Descriptor.FullName == Any.Descriptor.FullName
        ? Any.Parser.ParseFrom(detail.ToByteArray())
        : new Any { TypeUrl = $"{TypePrefix}{detail.Descriptor.FullName}", Value = detail.ToByteString() };

    private static DynamicMessage Unpack(string typeUrl, ByteString value, IMessage any)
    {
        string name = typeUrl[(typeUrl.LastIndexOf('/') + 1)..];
        if (Known.FindMessage(name) is { } type)
        {
            try
            {
                return DynamicMessage.Parse(type, value.Span);
            }
            catch (RpcException)
            {
                // Not of the type that it says; as it came, then.
            }
        }

        return DynamicMessage.Parse(Known.GetMessage("google.protobuf.Any"), any.ToByteArray());
    }
}
