using System.Runtime.CompilerServices;
using Google.Protobuf.Reflection;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Formats;

/// <summary>A message that is being read: a dynamic one, or one of a generated class, whose properties are
/// set one by one.</summary>
/// <remarks>Fields without a property, such as extensions, are stored in a dynamic message until <see
/// cref="Complete"/>.</remarks>
internal readonly struct MessageTarget
{
    private readonly GeneratedProperties? _class;
    private readonly DynamicMessage? _dynamic;

    /// <summary>A dynamic message.</summary>
    public MessageTarget(DynamicMessage message)
        : this(message, message, null)
    {
    }

    /// <summary>An empty message of a generated class.</summary>
    public MessageTarget(IMessage message, GeneratedType type)
        : this(message, type.Properties.AreAll ? null : new DynamicMessage(type.Layout), type.Properties)
    {
    }

    private MessageTarget(IMessage message, DynamicMessage? dynamic, GeneratedProperties? properties)
    {
        Message = message;
        _dynamic = dynamic;
        _class = properties;
    }

    public IMessage Message { get; }

    /// <summary>Its fields.</summary>
    public MessageLayout Layout => _dynamic is { } dynamic ? dynamic.Layout : _class!.Layout;

    /// <summary>Whether some fields are stored in the dynamic message.</summary>
    public bool IsInTwo => _dynamic is { } dynamic && !ReferenceEquals(dynamic, Message);

    /// <summary>An empty message.</summary>
    /// <param name="layout">Its fields.</param>
    /// <param name="type">Its generated class, or an entry of a map of one; null for a dynamic
    /// message.</param>
    public static MessageTarget Create(MessageLayout layout, GeneratedType? type)
    {
        if (type is { CanMake: true })
        {
            return new MessageTarget(type.New(), type);
        }
        DynamicMessage dynamic = new(layout);
        return new MessageTarget(dynamic, dynamic, type?.Properties);
    }

    /// <summary>The class of the messages in a field; for a map, the properties of its entries. Null if they
    /// are dynamic messages.</summary>
    public GeneratedType? ClassOf(FieldLayout field) => _class?.Held(field);

    /// <summary>The member of a field's oneof that is set.</summary>
    public FieldLayout? ChosenOf(FieldLayout field) =>
        _class?.ChosenOf(Message, field) ?? _dynamic?.ChosenOf(field.CaseSlot);

    /// <summary>Sets a scalar, or adds it to a list.</summary>
    public void Store(FieldLayout field, ulong bits)
    {
        if (_class?.Of(field) is { } property)
        {
            property.Put(Message, bits);
        }
        else if (field.IsRepeated)
        {
            ScalarLists.Add(_dynamic!, field, bits);
        }
        else
        {
            _dynamic!.StoreScalar(field, bits);
        }
    }

    /// <summary>Sets text, bytes or a message, or adds it to a list.</summary>
    public void Store(FieldLayout field, object value)
    {
        if (_class?.Of(field) is { } property)
        {
            property.Put(Message, value);
        }
        else if (!field.IsRepeated)
        {
            bool absent = !field.HasPresence && value is ("" or byte[] { Length: 0 });
            _dynamic!.StoreReference(field, absent ? null : value);
        }
        else
        {
            Add(_dynamic!, field, value);
        }
    }

    /// <summary>The number of entries in a map of a generated class; null for a dynamic map.</summary>
    public int? GeneratedEntries(FieldLayout field) => (_class?.Of(field) as GeneratedMap)?.CountOf(Message);

    /// <summary>Sets an entry of a map.</summary>
    /// <returns>False where the key is there already, and the entry is not to be replaced.</returns>
    public bool StoreEntry(FieldLayout field, object key, object value, bool replaces)
    {
        if (_class?.Of(field) is GeneratedMap property)
        {
            return property.PutEntry(Message, key, value, replaces);
        }
        OrderedDictionary<object, object> map = _dynamic!.MapOf(field);
        if (!replaces)
        {
            return map.TryAdd(key, value);
        }
        map[key] = value;
        return true;
    }

    /// <summary>Adds the fields of the dynamic message to the generated one.</summary>
    public void Complete(FormatOptions options)
    {
        if (IsInTwo)
        {
            GeneratedMessages.Merge(_dynamic!, Message, options);
        }
    }

    private static void Add(DynamicMessage message, FieldLayout field, object value)
    {
        switch (value)
        {
            case string text:
                message.ListOf<string>(field).Add(text);
                break;
            case byte[] bytes:
                message.ListOf<byte[]>(field).Add(bytes);
                break;
            case DynamicMessage child:
                message.ListOf<DynamicMessage>(field).Add(child);
                break;
        }
    }
}

/// <summary>How generated messages are written and read: by their properties, or by their binary form if
/// their class has other fields than the schema.</summary>
internal static class GeneratedMessages
{
    private static readonly ConditionalWeakTable<FileDescriptor, RpcSchema> Schemas = [];

    /// <summary>Shows a generated message as a dynamic one.</summary>
    /// <param name="message">The message.</param>
    /// <param name="showUnknown">Whether unknown fields are needed.</param>
    /// <param name="options">The options, with the schema.</param>
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
        // If a required field is missing, converting the whole message reports the names of all missing
        // fields.
        GeneratedViews views = new(showUnknown, () => ToDynamic(message, options).CheckRequired());
        return (views.Load(layout, message), views);
    }

    /// <summary>The message itself if it is dynamic, otherwise a dynamic copy.</summary>
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
    /// <returns>Null if the message is not empty, or has properties without a setter. The fields are merged
    /// into it then.</returns>
    public static MessageTarget? TargetOf(MessageLayout layout, IMessage target) =>
        GeneratedType.IsGenerated(target) && GeneratedType.ForReading(layout, target) is { } type
            && target.CalculateSize() == 0
            ? new MessageTarget(target, type)
            : null;

    /// <summary>Adds the fields of a dynamic message to a generated one.</summary>
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
                RpcStatusCode.InvalidArgument, RpcErrorIds.MalformedMessage,
                $"The {read.Type.FullName} of the schema does not fit into the class "
                + $"{target.GetType().FullName}: {e.Message}", e);
        }
    }

    /// <summary>Whether a generated message surely has all fields that the schema requires.</summary>
    public static bool IsComplete(MessageLayout layout, IMessage message) =>
        (layout.Required.Length == 0 && layout.ToRequired.Length == 0)
        || (GeneratedType.For(layout, message) is not null && GeneratedRequired.FindMissing(message) is null);

    /// <summary>The type of a message in the schema of the options, else in that of its class.</summary>
    // A given schema may declare extensions that the generated files do not.
    public static RpcMessageInfo TypeOf(IMessage message, FormatOptions options) =>
        options.Schema?.FindMessage(message.Descriptor.FullName)
        ?? Schemas.GetValue(message.Descriptor.File, file => RpcSchema.FromDescriptors(file))
            .GetMessage(message.Descriptor.FullName);
}
