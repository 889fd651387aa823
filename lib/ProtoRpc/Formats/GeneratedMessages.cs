using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Formats;

/// <summary>How generated messages are written and read: by their properties, or by their binary form if
/// their class has other fields than the schema.</summary>
internal static class GeneratedMessages
{
    private static readonly ConditionalWeakTable<FileDescriptor, RpcSchema> Schemas = [];

    /// <summary>Shows a generated message as a dynamic one.</summary>
    /// <param name="message">The message.</param>
    /// <param name="showUnknown">Whether unknown fields are needed.</param>
    /// <param name="options">What the schema is.</param>
    /// <returns>Null where <see cref="ToDynamic"/> is the way.</returns>
    /// <exception cref="RpcException">InvalidArgument: a required field is missing.</exception>
    public static (DynamicMessage View, GeneratedViews Views)? View(
        IMessage message, bool showUnknown, FormatOptions options)
    {
        if (!GeneratedType.IsGenerated(message))
        {
            return null;
        }
        MessageLayout layout = MessageLayout.For(TypeOf(message, options));
        if (GeneratedType.For(layout, message) is not { } type || (showUnknown && !type.ReachShowsUnknown))
        {
            return null;
        }
        // The check of the whole message names all missing fields.
        GeneratedViews views = new(showUnknown, () => ToDynamic(message, options).CheckRequired());
        return (views.Load(layout, message), views);
    }

    /// <summary>The message itself where it is dynamic, else a copy of it, or what its bytes are.</summary>
    public static DynamicMessage ToDynamic(IMessage message, FormatOptions options)
    {
        if (message is DynamicMessage dynamic)
        {
            return dynamic;
        }

        if (message is OpaqueMessage opaque)
        {
            return opaque.ToDynamic(options.MaxElements);
        }

        DynamicMessage copy = new(TypeOf(message, options));
        copy.MergeFrom(message.ToByteArray());
        return copy;
    }

    /// <summary>A generated message as readers fill it.</summary>
    /// <param name="layout">The fields that are read.</param>
    /// <param name="target">The message.</param>
    /// <returns>Null where it is not empty, or has no properties that can be set: what is read is then merged
    /// into it.</returns>
    public static MessageTarget? TargetOf(MessageLayout layout, IMessage target) =>
        GeneratedType.IsGenerated(target) && GeneratedType.ForReading(layout, target) is { } type
            && target.CalculateSize() == 0
            ? new MessageTarget(target, type)
            : null;

    /// <summary>Adds what a dynamic message holds to a generated one.</summary>
    /// <exception cref="RpcException">InvalidArgument: the schema and the class have different types of a
    /// field.</exception>
    public static void Merge(DynamicMessage read, IMessage target, FormatOptions options)
    {
        using WireWriter bytes = read.Encode();
        GeneratedLimits.Check(
            read.Type, bytes.Written, options.MaxElements, options.MaxGeneratedMapEntries, options.Look);
        try
        {
            target.MergeFrom(bytes.Written);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The {read.Type.FullName} of the schema does not fit into the class "
                + $"{target.GetType().FullName}: {e.Message}", e)
            {
                ErrorId = RpcErrorIds.MalformedMessage,
            };
        }
    }

    /// <summary>Whether a generated message surely has all fields that the schema requires.</summary>
    public static bool IsComplete(MessageLayout layout, IMessage message) =>
        (layout.Required.Length == 0 && layout.ToRequired.Length == 0)
        || (GeneratedType.For(layout, message) is not null && GeneratedRequired.FindMissing(message) is null);

    /// <summary>The type of a message in the schema of the options, else in that of its class.</summary>
    // A schema that is given knows extensions that the generated files may not.
    public static RpcMessageInfo TypeOf(IMessage message, FormatOptions options) =>
        options.Schema?.FindMessage(message.Descriptor.FullName)
        ?? Schemas.GetValue(message.Descriptor.File, file => RpcSchema.FromDescriptors(file))
            .GetMessage(message.Descriptor.FullName);
}
