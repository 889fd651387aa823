using System.Collections;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf.Collections;
using Google.Protobuf.Reflection;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>How messages of a generated class are shown as dynamic ones, one at a time, and how readers fill
/// them, without their binary form.</summary>
/// <remarks>Found once for each type; safe for many threads.</remarks>
internal sealed class GeneratedType
{
    private static readonly ConditionalWeakTable<MessageLayout, GeneratedType> Known = [];

    // By the index of the field. Null if the class cannot be accessed; an item is null if its field cannot.
    private readonly GeneratedField?[]? _fields;
    private readonly ConstructorInvoker? _new;
    private readonly FieldInfo? _unknown;
    private readonly bool _isPlain;
    private GeneratedType[]? _reached;
    private GeneratedProperties? _properties;

    [UnconditionalSuppressMessage(
        "Trimming", "IL2075", Justification = "A field that was trimmed away is as one that is not there.")]
    private GeneratedType(MessageLayout layout, MessageDescriptor descriptor)
    {
        Layout = layout;
        Descriptor = descriptor;
        Type? type = descriptor.ClrType;
        ConstructorInfo? constructor = type?.GetConstructor([]);
        if (constructor is null || !RuntimeFeature.IsDynamicCodeSupported)
        {
            return;
        }
        _new = ConstructorInvoker.Create(constructor);
        FieldInfo? unknown = type!.GetField("_unknownFields", BindingFlags.Instance | BindingFlags.NonPublic);
        _unknown = unknown?.FieldType == typeof(UnknownFieldSet) ? unknown : null;
        HasClosedEnums = layout.Fields.Any(
            field => (field.IsMap ? field.Value : field).ClosedNumbers is not null);
        IsExtensible = descriptor.ToProto().ExtensionRange.Count > 0;

        _fields = Array.ConvertAll(
            layout.Fields,
            field => GeneratedFields.Find(field, descriptor.FindFieldByNumber(field.Info.Number)));
        _isPlain = !layout.IsMessageSet
            && layout.Fields.Length == descriptor.Fields.InDeclarationOrder().Count
            && Array.TrueForAll(_fields, field => field is not null);
    }

    public MessageLayout Layout { get; }

    public MessageDescriptor Descriptor { get; }

    /// <summary>Whether the type has closed enums, whose undeclared numbers are unknown fields.</summary>
    public bool HasClosedEnums { get; }

    /// <summary>Whether there may be extensions that the schema does not have.</summary>
    public bool IsExtensible { get; }

    /// <summary>Whether unknown fields can be seen.</summary>
    public bool ShowsUnknown => _unknown is not null;

    /// <summary>Whether messages of it are written without their binary form.</summary>
    public bool IsWhole => Reached.Length > 0;

    // This type and all message types in it. Empty if one of them cannot be read field by field.
    private GeneratedType[] Reached => _reached ??= Reach();

    /// <summary>Whether a message has the generated class of its descriptor.</summary>
    public static bool IsGenerated(IMessage message) => message.Descriptor.ClrType == message.GetType();

    /// <summary>How an empty message is read by its properties.</summary>
    /// <returns>Null where its class has none that can be set.</returns>
    public static GeneratedType? ForReading(MessageLayout layout, IMessage message)
    {
        GeneratedType type = At(layout, message.Descriptor);
        return ReferenceEquals(type.Descriptor, message.Descriptor) && type._fields is not null ? type : null;
    }

    /// <summary>The way for messages of a generated class with the fields of a layout.</summary>
    /// <returns>Null if the class or a nested one differs from the schema, or may have extensions that the
    /// schema declares. Their binary form is used then.</returns>
    public static GeneratedType? For(MessageLayout layout, IMessage message)
    {
        GeneratedType type = At(layout, message.Descriptor);
        return ReferenceEquals(type.Descriptor, message.Descriptor) && type.IsWhole ? type : null;
    }

    /// <summary>The type of a nested message.</summary>
    public static GeneratedType? Get(MessageLayout layout) =>
        Known.TryGetValue(layout, out GeneratedType? type) ? type : null;

    /// <summary>Whether messages of all types in it show all unknown fields that they have.</summary>
    public bool ReachShowsUnknown => Array.TrueForAll(
        Reached, type => type is { ShowsUnknown: true, HasClosedEnums: false, IsExtensible: false });

    /// <summary>Whether messages can be created. Map entries have no class.</summary>
    public bool CanMake => _new is not null;

    /// <summary>How readers fill messages of it.</summary>
    public GeneratedProperties Properties => _properties ??= new GeneratedProperties(this, _fields);

    /// <summary>An empty generated message.</summary>
    public IMessage New() => (IMessage)_new!.Invoke();

    /// <summary>Copies a generated message to an empty dynamic one. Nested messages are not
    /// converted.</summary>
    public void Load(IMessage from, DynamicMessage to)
    {
        foreach (GeneratedField? field in _fields!)
        {
            field!.Load(from, to);
        }
    }

    /// <summary>Adds the unknown fields of a generated message.</summary>
    public void LoadUnknown(IMessage from, DynamicMessage to)
    {
        if (_unknown!.GetValue(from) is UnknownFieldSet fields)
        {
            byte[] bytes = new byte[fields.CalculateSize()];
            using CodedOutputStream output = new(bytes);
            fields.WriteTo(output);
            output.Flush();
            to.AppendUnknown(bytes);
        }
    }

    /// <summary>The cached description of a type.</summary>
    public static GeneratedType At(MessageLayout layout, MessageDescriptor descriptor) =>
        Known.TryGetValue(layout, out GeneratedType? type)
            ? type
            : Known.GetValue(layout, missing => new GeneratedType(missing, descriptor));

    private GeneratedType[] Reach()
    {
        HashSet<GeneratedType> seen = [this];
        Queue<GeneratedType> next = new(seen);
        while (next.TryDequeue(out GeneratedType? type))
        {
            if (!type._isPlain)
            {
                return [];
            }
            foreach (FieldLayout field in type.Layout.Fields)
            {
                FieldLayout part = field.IsMap ? field.Value : field;
                FieldDescriptor known = type.Descriptor.FindFieldByNumber(field.Info.Number);
                known = field.IsMap ? known.MessageType.FindFieldByNumber(2) : known;
                if (!part.IsMessage || GeneratedFields.IsWrapped(known))
                {
                    continue;
                }
                GeneratedType held = At(part.Message, known.MessageType);
                if (!ReferenceEquals(held.Descriptor, known.MessageType))
                {
                    return [];
                }
                if (seen.Add(held))
                {
                    next.Enqueue(held);
                }
            }
        }
        return [.. seen];
    }
}

/// <summary>Shows generated messages to a writer as dynamic ones. A view exists while its message is written,
/// and does not contain those of nested messages.</summary>
/// <remarks>For one run of writing.</remarks>
/// <param name="showUnknown">Whether unknown fields are shown.</param>
/// <param name="refuseIncomplete">Throws, because a required field is missing.</param>
internal sealed class GeneratedViews(bool showUnknown, Action refuseIncomplete)
{
    private readonly Dictionary<MessageLayout, Pool> _pools = [];
    private Pool? _last;

    /// <summary>Shows a message until its view is given back.</summary>
    public DynamicMessage Load(MessageLayout layout, IMessage message)
    {
        Pool pool = PoolOf(layout);
        DynamicMessage view = pool.Free.TryPop(out DynamicMessage? free) ? free : new DynamicMessage(layout);
        pool.Type.Load(message, view);
        if (showUnknown)
        {
            pool.Type.LoadUnknown(message, view);
        }
        if (layout.Required.Length > 0 && !RequiredFields.HasOwn(view))
        {
            refuseIncomplete();
        }
        return view;
    }

    /// <summary>Takes a view back.</summary>
    public void Release(DynamicMessage view)
    {
        view.Scalars.Clear();
        view.References.Clear();
        view.ClearUnknownFields();
        PoolOf(view.Layout).Free.Push(view);
    }

    private Pool PoolOf(MessageLayout layout)
    {
        if (_last is { } last && last.Type.Layout == layout)
        {
            return last;
        }
        if (!_pools.TryGetValue(layout, out Pool? pool))
        {
            pool = new Pool(GeneratedType.Get(layout)!);
            _pools.Add(layout, pool);
        }
        return _last = pool;
    }

    private sealed record Pool(GeneratedType Type)
    {
        public Stack<DynamicMessage> Free { get; } = new();
    }
}

/// <summary>A list of strings, bytes or messages.</summary>
internal sealed class GeneratedReferences(FieldLayout layout, FieldDescriptor field, bool wraps)
    : GeneratedField(layout)
{
    private readonly IFieldAccessor _accessor = field.Accessor;

    public override void Load(IMessage from, DynamicMessage to)
    {
        IList items = (IList)_accessor.GetValue(from);
        if (items.Count > 0)
        {
            to.References[Layout.Slot] = items switch
            {
                _ when wraps => Wrapped(items),
                RepeatedField<string> texts => texts.Select(TextOf).ToList(),
                RepeatedField<ByteString> values => values.Select(BytesOf).ToList(),
                _ => items,
            };
        }
    }

    public override void Put(IMessage to, object value) => ((IList)_accessor.GetValue(to)).Add(value switch
    {
        DynamicMessage wrapper => GeneratedWrapper.Unwrap(wrapper),
        byte[] bytes => UnsafeByteOperations.UnsafeWrap(bytes),
        _ => value,
    });

    private List<DynamicMessage> Wrapped(IList values)
    {
        List<DynamicMessage> messages = new(values.Count);
        foreach (object value in values)
        {
            messages.Add(GeneratedWrapper.Wrap(Layout.Message, value));
        }
        return messages;
    }
}
