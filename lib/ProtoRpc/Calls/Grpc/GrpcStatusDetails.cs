using Google.Protobuf;
using ProtoRpc.Calls.Grpc.Proto;
using ProtoRpc.Messages;
using ProtoRpc.Schema;
using ProtoRpc.Wire.Grpc;

namespace ProtoRpc.Calls.Grpc;

/// <summary>The details of a status: messages of google.rpc, known without a schema, and of others.</summary>
internal static class GrpcStatusDetails
{
    private static readonly RpcSchema Known =
        RpcSchema.FromDescriptors(StatusReflection.Descriptor, ErrorDetailsReflection.Descriptor);

    /// <summary>The schema of google.rpc's status and details.</summary>
    public static RpcSchema Schema => Known;

    /// <summary>Reads the header; what cannot be read is left out, for the status itself counts more.</summary>
    /// <returns>A <see cref="DynamicMessage"/> for each detail; those of unknown types are a google.protobuf.Any.</returns>
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
