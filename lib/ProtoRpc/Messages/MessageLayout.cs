using System.Collections.Frozen;
using System.Runtime.CompilerServices;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Messages;

/// <summary>The common data of all messages of a type: the position of each field, and how to find
/// it.</summary>
/// <remarks>A message has a row of scalars and a row of references. The scalars begin with the presence bits,
/// then the cases of the oneofs, then the values. Immutable, except for data that is created on demand;
/// thread-safe.</remarks>
internal sealed class MessageLayout
{
    /// <summary>The maximum nesting of messages that are read and written, as in other
    /// implementations.</summary>
    public const int MaxDepth = 100;

    private const int ElementsOfJsonValue = 2;
    private const int BitsPerWord = 64;
    private const int MinDenseNumbers = 64;
    private const int DenseNumbersPerField = 8;

    // Shared by all types without required fields. Sorting the words of other types compiles code when it
    // first runs.
    private static readonly (int Word, ulong Bits)[] NoBits = [];

    private readonly FieldLayout?[] _byNumber;
    private readonly FrozenDictionary<int, FieldLayout>? _byLargeNumber;
    private FieldLayout[]? _shown;
    private StringComparer? _nameComparer;
    private FieldLayout[]? _toRequired;
    private Reach _reach;
    private int _mostElements = -1;
    private Dictionary<string, FieldLayout>? _byName;
    private int _sizeHint;

    private MessageLayout(RpcMessageInfo type)
    {
        Type = type;
        WellKnown = WellKnownTypes.Get(type);
        IsMessageSet = type.IsMessageSet;
        Fields = type.Fields.Concat(type.Extensions)
            .OrderBy(field => field.Number)
            .Select((field, index) => new FieldLayout(field, index))
            .ToArray();
        Elements = WellKnown is WellKnownType.Value or WellKnownType.ListValue or WellKnownType.Struct
            ? ElementsOfJsonValue
            : 1 + Fields.Length;
        Extensions = Fields.Where(field => field.Info.IsExtension).ToArray();
        Required = Fields.Where(field => field.Info.IsRequired).ToArray();
        AssignSlots();
        Shape = MessageShape.Create(ScalarCount - DynamicMessage.OwnScalars, ReferenceCount);
        IsWide = Shape?.IsWide == true;
        ScalarOffset = Shape?.ScalarOffset ?? 0;
        ReferenceOffset = Shape?.ReferenceOffset ?? 0;
        RequiredBits = Required.Length == 0 ? NoBits : Required.Where(field => !field.IsReference)
            .GroupBy(field => field.PresenceWord, field => field.PresenceMask)
            .Select(word => (word.Key, word.Aggregate((bits, bit) => bits | bit)))
            .ToArray();
        RequiredReferences = Required.Length == 0
            ? []
            : Required.Where(field => field.IsReference).Select(field => field.Slot).ToArray();

        // The fields are sorted by number.
        int dense = Math.Max(MinDenseNumbers, Fields.Length * DenseNumbersPerField);
        int largest = Array.FindLast(Fields, field => field.Info.Number < dense)?.Info.Number ?? 0;
        _byNumber = new FieldLayout?[largest + 1];
        foreach (FieldLayout field in Fields.Where(field => field.Info.Number <= largest))
        {
            _byNumber[field.Info.Number] = field;
        }
        FieldLayout[] others = Fields.Where(field => field.Info.Number > largest).ToArray();
        _byLargeNumber = others.Length == 0 ? null : others.ToFrozenDictionary(field => field.Info.Number);
    }

    public RpcMessageInfo Type { get; }

    /// <summary>The kind of well-known type.</summary>
    public WellKnownType WellKnown { get; }

    /// <summary>Whether its extensions are items of a MessageSet on the wire.</summary>
    public bool IsMessageSet { get; }

    /// <summary>Fields and extensions by number.</summary>
    public FieldLayout[] Fields { get; }

    /// <summary>The number of elements that a message counts in an <see cref="ElementBudget"/>: one, and its
    /// fields. A value of JSON counts less, because it may have only two characters.</summary>
    public int Elements { get; }

    /// <summary>The elements of the largest message that messages of this type can contain; 0 if they contain
    /// none.</summary>
    public int MostElements => _mostElements >= 0 ? _mostElements : _mostElements = FindMostElements();

    /// <summary>The fields that must be there.</summary>
    public FieldLayout[] Required { get; }

    /// <summary>The presence bits of the required scalars, with the index of the scalar that contains
    /// them.</summary>
    public (int Word, ulong Bits)[] RequiredBits { get; }

    /// <summary>The slots of the required fields that are stored by reference.</summary>
    public int[] RequiredReferences { get; }

    /// <summary>The extensions, by number.</summary>
    public FieldLayout[] Extensions { get; }

    public int ScalarCount { get; private set; }

    public int ReferenceCount { get; private set; }

    /// <summary>The shape of the stores of messages; null if they need none.</summary>
    public MessageShape? Shape { get; }

    /// <summary>Whether the values in a store lie in arrays.</summary>
    public bool IsWide { get; }

    /// <summary>Where the scalars lie in a store.</summary>
    public nint ScalarOffset { get; }

    /// <summary>Where the references lie in a store.</summary>
    public nint ReferenceOffset { get; }

    /// <summary>The fields in declared order, as objects show them, without extensions.</summary>
    public FieldLayout[] Shown => _shown ??= Type.Fields.Select(info => Find(info.Number)!).ToArray();

    /// <summary>How the names of its fields compare in a dictionary: without regard to case, unless two
    /// differ in nothing else.</summary>
    public StringComparer NameComparer => _nameComparer ??=
        Fields.DistinctBy(f => f.Info.Name, StringComparer.OrdinalIgnoreCase).Count() == Fields.Length
            ? StringComparer.OrdinalIgnoreCase
            : StringComparer.Ordinal;

    /// <summary>The fields in whose messages required fields may be missing.</summary>
    public FieldLayout[] ToRequired => _toRequired ??= Fields
        .Where(candidate => candidate.IsMessage && candidate.Message.ReachesRequired)
        .ToArray();

    /// <summary>A little more than the last message of this type took, so that the buffer need not
    /// grow.</summary>
    public int SizeHint
    {
        get => _sizeHint;
        set
        {
            // The hint is only written if it changes, because all threads that send this type read it.
            int hint = (int)Math.Min(value + (value / 8L), 1 << 20);
            if (hint != _sizeHint)
            {
                _sizeHint = hint;
            }
        }
    }

    /// <summary>Called for each complete pass over a message of this type, for tests that count passes;
    /// otherwise null.</summary>
    public Action<MessagePass>? Watch { get; set; }

    /// <summary>The layout of a type, compiled once.</summary>
    public static MessageLayout For(RpcMessageInfo type) =>
        Volatile.Read(ref type.Layout) is { } layout ? Unsafe.As<MessageLayout>(layout) : Compile(type);

    private static MessageLayout Compile(RpcMessageInfo type)
    {
        // If several threads create a layout, all use the first one: messages have the same type only if
        // their layouts are the same object.
        MessageLayout layout = new(type);
        return (MessageLayout?)Interlocked.CompareExchange(ref type.Layout, layout, null) ?? layout;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public FieldLayout? Find(int number) =>
        (uint)number < (uint)_byNumber.Length ? _byNumber[number] : FindLarge(number);

    /// <summary>A field by any of its names, or an extension by <c>[full.name]</c>.</summary>
    public FieldLayout? Find(string name) =>
        (_byName ??= IndexNames()).TryGetValue(name, out FieldLayout? field) ? field
        : Type.FindField(name) is { } info ? Find(info.Number)
        : null;

    // The common names. All others are found by the type.
    private Dictionary<string, FieldLayout> IndexNames()
    {
        Dictionary<string, FieldLayout> byName = new(StringComparer.Ordinal);
        foreach (FieldLayout field in Fields)
        {
            if (ReferenceEquals(Type.FindField(field.Info.Name), field.Info))
            {
                byName[field.Info.Name] = field;
            }
        }
        return byName;
    }

    private FieldLayout? FindLarge(int number) => _byLargeNumber?.GetValueOrDefault(number);

    // Whether the type has required fields, or contains messages of types with required fields.
    private bool ReachesRequired
    {
        get
        {
            if (_reach == Reach.Unknown)
            {
                FindReach();
            }
            return _reach == Reach.Required;
        }
    }

    private int FindMostElements()
    {
        int most = 0;
        HashSet<MessageLayout> seen = [this];
        Queue<MessageLayout> waiting = new(seen);
        while (waiting.TryDequeue(out MessageLayout? layout))
        {
            foreach (FieldLayout field in layout.Fields.Where(field => field.IsMessage))
            {
                most = Math.Max(most, field.Message.Elements);
                if (seen.Add(field.Message))
                {
                    waiting.Enqueue(field.Message);
                }
            }
        }
        return most;
    }

    // A schema may be hostile: a chain of 50,000 types must not overflow the stack, so there is no recursion.
    // Thousands of fields must not each visit all types, so all visited types store their result.
    private void FindReach()
    {
        Dictionary<MessageLayout, List<MessageLayout>> holders = new() { [this] = [] };
        Queue<MessageLayout> waiting = new([this]);
        Queue<MessageLayout> reaching = new();
        while (waiting.TryDequeue(out MessageLayout? layout))
        {
            if (layout.Required.Length > 0)
            {
                reaching.Enqueue(layout);
            }
            foreach (FieldLayout field in layout.Fields.Where(field => field.IsMessage))
            {
                if (!holders.TryGetValue(field.Message, out List<MessageLayout>? known))
                {
                    holders.Add(field.Message, known = []);
                    waiting.Enqueue(field.Message);
                }
                known.Add(layout);
            }
        }

        HashSet<MessageLayout> reached = [];
        while (reaching.TryDequeue(out MessageLayout? layout))
        {
            if (reached.Add(layout))
            {
                holders[layout].ForEach(reaching.Enqueue);
            }
        }
        foreach (MessageLayout layout in holders.Keys)
        {
            layout._reach = reached.Contains(layout) ? Reach.Required : Reach.None;
        }
    }

    private void AssignSlots()
    {
        FieldLayout[] withBit = Fields.Where(field => !field.IsReference && field.HasPresence).ToArray();
        for (int i = 0; i < withBit.Length; i++)
        {
            withBit[i].PresenceWord = i / BitsPerWord;
            withBit[i].PresenceMask = 1UL << (i % BitsPerWord);
        }
        ScalarCount = (withBit.Length + BitsPerWord - 1) / BitsPerWord;

        Dictionary<RpcOneofInfo, int> cases = [];
        foreach (RpcOneofInfo oneof in Type.Oneofs)
        {
            cases.Add(oneof, ScalarCount++);
        }
        foreach (FieldLayout field in Fields)
        {
            if (field.Info.Oneof is { } oneof)
            {
                field.CaseSlot = cases[oneof];
            }
        }

        foreach (FieldLayout field in Fields)
        {
            field.Slot = field.IsReference ? ReferenceCount++ : ScalarCount++;
            field.FindWay();
        }
    }

    private enum Reach : byte
    {
        Unknown,
        None,
        Required,
    }
}

/// <summary>Operations whose time is proportional to the size of a message.</summary>
internal enum MessagePass
{
    /// <summary>The message is written in binary.</summary>
    Encode,

    /// <summary>The required fields are looked for, here and in nested messages, on their own or while the
    /// message is read.</summary>
    CheckRequired,
}

/// <summary>The position of a field in a <see cref="DynamicMessage"/>, and how it is written.</summary>
internal sealed class FieldLayout
{
    private MessageLayout? _message;

    public FieldLayout(RpcFieldInfo info, int index)
    {
        Info = info;
        Index = index;
        Kind = info.Kind;
        IsRepeated = info.IsRepeated;
        IsMap = info.IsMap;
        IsRequired = info.IsRequired;
        HasPresence = info.HasPresence;
        IsMessageSetItem = info.IsMessageSetItem;
        ValidatesUtf8 = info.ValidatesUtf8;
        IsMessage = Kind is RpcFieldKind.Message or RpcFieldKind.Group;
        SingleType = IsRepeated ? null : ScalarValue.TypeOf(Kind);
        IsReference = IsRepeated || IsMessage || Kind is RpcFieldKind.String or RpcFieldKind.Bytes;

        uint wireType = (uint)FieldWireTypes.Get(Kind);
        Tag = WireType.MakeTag(info.Number, wireType);
        TagSize = WireWriter.VarintSize(Tag);
        bool packable = IsRepeated && wireType is WireType.Varint or WireType.Fixed32 or WireType.Fixed64;
        PackedTag = packable ? WireType.MakeTag(info.Number, WireType.LengthDelimited) : 0;
        IsPacked = packable && info.IsPacked;
        EndTag = WireType.MakeTag(info.Number, WireType.EndGroup);
        Enum = info.EnumType;
        ClosedNumbers = Enum?.ClosedNumbers;
    }

    public RpcFieldInfo Info { get; }

    /// <summary>The position in <see cref="MessageLayout.Fields"/>.</summary>
    public int Index { get; }

    public RpcFieldKind Kind { get; }

    public bool IsRepeated { get; }

    public bool IsMap { get; }

    public bool IsMessage { get; }

    public bool IsPacked { get; }

    /// <summary>Whether the field is written as an item of a MessageSet.</summary>
    public bool IsMessageSetItem { get; }

    public bool IsRequired { get; }

    public bool HasPresence { get; }

    public bool ValidatesUtf8 { get; }

    /// <summary>Whether the value lies in the references; otherwise it lies in the scalars.</summary>
    public bool IsReference { get; }

    /// <summary>The tag of the value, or of one element.</summary>
    public uint Tag { get; }

    /// <summary>The size of the tag in bytes; the same for every wire type.</summary>
    public int TagSize { get; }

    /// <summary>The tag of a packed field; 0 if it cannot be packed.</summary>
    public uint PackedTag { get; }

    /// <summary>The tag that ends a group.</summary>
    public uint EndTag { get; }

    public RpcEnumInfo? Enum { get; }

    /// <summary>The numbers of a closed enum; null for an open one.</summary>
    public FrozenSet<int>? ClosedNumbers { get; }

    /// <summary>The index among the scalars or among the references.</summary>
    public int Slot { get; internal set; }

    /// <summary>The slot with the presence bit of a scalar; 0 if it has none.</summary>
    public int PresenceWord { get; internal set; }

    /// <summary>The presence bit of a scalar; 0 if it has none.</summary>
    public ulong PresenceMask { get; internal set; }

    /// <summary>The slot with the oneof's set member (index + 1); -1 outside of a oneof.</summary>
    public int CaseSlot { get; internal set; } = -1;

    /// <summary>The .NET type of a single value; null for lists and maps.</summary>
    public Type? SingleType { get; }

    /// <summary>A name that the field was asked for by. Programs name it by the same object each
    /// time.</summary>
    public string? KnownName { get; set; }

    /// <summary>How the field is read and written.</summary>
    public FieldWay Way { get; private set; }

    /// <summary>The layout of a message, a group or a map's entry.</summary>
    /// <remarks>Created on demand, because a type can contain itself.</remarks>
    public MessageLayout Message => _message ??= MessageLayout.For(Info.MessageType!);

    /// <summary>The key of a map.</summary>
    public FieldLayout Key => Message.Fields[0];

    /// <summary>The value of a map.</summary>
    public FieldLayout Value => Message.Fields[1];

    /// <summary>Determines the way, after the field's position is known.</summary>
    public void FindWay() => Way = Kind switch
    {
        _ when IsMap || IsMessageSetItem || CaseSlot >= 0 || ClosedNumbers is not null => FieldWay.Other,
        RpcFieldKind.Message => IsRepeated ? FieldWay.Messages : FieldWay.Message,
        RpcFieldKind.Group => FieldWay.Other,
        _ when IsRepeated => FieldWay.Other,
        RpcFieldKind.String => FieldWay.String,
        RpcFieldKind.Bytes => FieldWay.Bytes,
        RpcFieldKind.Int64 or RpcFieldKind.UInt64 => FieldWay.Varint,
        RpcFieldKind.Int32 or RpcFieldKind.Enum => FieldWay.Int32,
        RpcFieldKind.Fixed64 or RpcFieldKind.SFixed64 or RpcFieldKind.Double => FieldWay.Fixed64,
        _ => FieldWay.Scalar,
    };
}

/// <summary>How a field is read and written. Common kinds have separate members, so that no further property
/// must be checked.</summary>
internal enum FieldWay : byte
{
    /// <summary>All that is not below: in a oneof, of a closed enum, a map, a group, repeated.</summary>
    Other,

    /// <summary>An int64 or uint64.</summary>
    Varint,

    /// <summary>An int32 or an open enum.</summary>
    Int32,

    /// <summary>A fixed64, sfixed64 or double.</summary>
    Fixed64,

    /// <summary>Another scalar.</summary>
    Scalar,

    /// <summary>A string.</summary>
    String,

    /// <summary>Bytes.</summary>
    Bytes,

    /// <summary>A message.</summary>
    Message,

    /// <summary>A list of messages.</summary>
    Messages,
}
