using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Client.Schemas;

/// <summary>Reads descriptor sets that are JSON or text, such as the images that buf writes.</summary>
internal static class TextSetReader
{
    private const string SetType = "google.protobuf.FileDescriptorSet";

    // An element is a message or a set field.
    private const int MaxBytes = 64 * 1024 * 1024;
    private const int MaxElements = 10_000_000;

    private static readonly FormatOptions Options = new()
    {
        // buf adds fields that descriptor.proto does not declare, and options may have types that the set
        // does not declare.
        IgnoreUnknownFields = true,
        MaxElements = MaxElements,
    };

    private static readonly Lazy<RpcMessageInfo> Plain = new(
        () => RpcSchema.FromDescriptors(DescriptorReflection.Descriptor).GetMessage(SetType));

    /// <summary>Converts a set to binary.</summary>
    /// <param name="text">The set.</param>
    /// <param name="origin">The noun for the set, for errors.</param>
    /// <exception cref="RpcException">InvalidArgument: it is not a descriptor set, or too large.</exception>
    public static byte[] ToBinary(byte[] text, string origin)
    {
        if (text.Length > MaxBytes)
        {
            throw SchemaError.Invalid(
                $"Cannot use {origin}: a descriptor set in JSON or text is limited to "
                + $"{MaxBytes / (1024 * 1024)} MB. Make a binary descriptor set.");
        }

        MessageFormat format = DescriptorSetReader.IsJson(text) ? MessageFormats.Json : MessageFormats.Text;
        try
        {
            byte[] bytes = format.Read(Plain.Value, text.AsMemory(), Options).ToByteArray();
            // A custom option can only be read with the files of the set that declare it.
            return WithOptions(bytes, origin)?.FindMessage(SetType) is { } type
                ? format.Read(type, text.AsMemory(), Options).ToByteArray()
                : bytes;
        }
        catch (RpcException e) when (e.ErrorId != RpcErrorIds.SchemaError)
        {
            throw SchemaError.Invalid(
                $"Cannot read {origin}: it is not a FileDescriptorSet in {format.Name}: {e.Message}", e);
        }
    }

    // The schema of descriptors with the extensions of a set; null if it has none.
    private static RpcSchema? WithOptions(byte[] set, string origin)
    {
        DescriptorFile descriptor =
            WellKnownFiles.Find(DescriptorReflection.Descriptor.Name)!;
        DescriptorFile[] files =
        [
            descriptor,
            .. DescriptorSetReader.Read(set, origin).Where(file => file.Name != descriptor.Name),
        ];
        return files.Any(file => file.Proto.Dependency.Contains(descriptor.Name))
            ? new RpcSchema(DescriptorLinker.Link(files), [descriptor.Name], [])
            : null;
    }
}
