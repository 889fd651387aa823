using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Formats;

/// <summary>Carries generated messages over to dynamic ones and back, by their binary form.</summary>
internal static class GeneratedMessages
{
    private static readonly ConditionalWeakTable<FileDescriptor, RpcSchema> Schemas = [];

    /// <summary>The message itself where it is dynamic, else a copy of it, or what its bytes are.</summary>
    public static DynamicMessage ToDynamic(IMessage message, FormatOptions options)
    {
        if (message is DynamicMessage dynamic)
        {
            return dynamic;
        }

        if (message is OpaqueMessage opaque)
        {
            return opaque.ToDynamic();
        }

        DynamicMessage copy = new(TypeOf(message, options));
        copy.MergeFrom(message.ToByteArray());
        return copy;
    }

    /// <summary>What is read into for a target: itself where it is dynamic, else an empty message of its
    /// type.</summary>
    public static DynamicMessage ReadTarget(IMessage target, FormatOptions options) =>
        target as DynamicMessage ?? new DynamicMessage(TypeOf(target, options));

    /// <summary>Gives the target what was read for it.</summary>
    public static void Return(DynamicMessage read, IMessage target)
    {
        if (!ReferenceEquals(read, target))
        {
            target.MergeFrom(read.ToByteArray());
        }
    }

    // A schema that is given knows extensions that the generated files may not.
    private static RpcMessageInfo TypeOf(IMessage message, FormatOptions options) =>
        options.Schema?.FindMessage(message.Descriptor.FullName)
        ?? Schemas.GetValue(message.Descriptor.File, file => RpcSchema.FromDescriptors(file))
            .GetMessage(message.Descriptor.FullName);
}
