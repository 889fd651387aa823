using System.Runtime.CompilerServices;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Formats;

/// <summary>Carries generated messages over to dynamic ones and back: field by field, or by their binary form
/// if their class has other fields than the schema.</summary>
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
        // The whole message tells all fields that are missing.
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

    /// <summary>What is read into for a target: itself where it is dynamic, else an empty message of its
    /// type.</summary>
    public static DynamicMessage ReadTarget(IMessage target, FormatOptions options) =>
        target as DynamicMessage ?? new DynamicMessage(TypeOf(target, options));

    /// <summary>Gives the target what was read for it.</summary>
    /// <param name="read">What was read.</param>
    /// <param name="target">Gets it.</param>
    /// <param name="byField">Whether that has no unknown fields.</param>
    public static void Return(DynamicMessage read, IMessage target, bool byField)
    {
        if (ReferenceEquals(read, target))
        {
            return;
        }
        if (byField && GeneratedType.IsGenerated(target) && GeneratedType.For(read.Layout, target) is { } type
            && target.CalculateSize() == 0)
        {
            type.Store(read, target);
        }
        else
        {
            target.MergeFrom(read.ToByteArray());
        }
    }

    /// <summary>What a text format read, as a message of a generated class.</summary>
    /// <param name="read">What was read; it has no unknown fields.</param>
    /// <param name="wanted">The class.</param>
    /// <param name="parse">Makes the first message of the class, of the binary form.</param>
    public static T Make<T>(DynamicMessage read, Type wanted, Func<byte[], T> parse)
    {
        if (GeneratedType.Of(read.Layout) is { IsWhole: true } type && type.Descriptor.ClrType == wanted)
        {
            IMessage made = type.New();
            type.Store(read, made);
            return (T)made;
        }
        T parsed = parse(read.ToByteArray());
        if (parsed is IMessage first && GeneratedType.IsGenerated(first))
        {
            // From now on there is a shorter way.
            GeneratedType.For(read.Layout, first);
        }
        return parsed;
    }

    // A schema that is given knows extensions that the generated files may not.
    private static RpcMessageInfo TypeOf(IMessage message, FormatOptions options) =>
        options.Schema?.FindMessage(message.Descriptor.FullName)
        ?? Schemas.GetValue(message.Descriptor.File, file => RpcSchema.FromDescriptors(file))
            .GetMessage(message.Descriptor.FullName);
}
