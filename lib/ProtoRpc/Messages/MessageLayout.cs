using System.Collections.Frozen;
using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages;

/// <summary>What is the same for all messages of a type: where each field lies, and how it is
/// found.</summary>
/// <remarks>
/// A message is a row of scalars and one of references. The scalars begin with the presence bits, then come
/// the cases of the oneofs, then the values. Immutable but for what is found when first needed; safe for many
/// threads.
/// </remarks>
internal sealed class MessageLayout
{
    /// <summary>Messages within messages that are read and written: as many as other implementations
    /// allow.</summary>
    public const int MaxDepth = 100;

    private const int ElementsOfJsonValue = 2;
    private const int BitsPerWord = 64;
    private const int MinDenseNumbers = 64;
    private const int DenseNumbersPerField = 8;

    private readonly FieldLayout?[] _byNumber;
    private readonly FrozenDictionary<int, FieldLayout>? _byLargeNumber;
    private FieldLayout[]? _shown;
    private StringComparer? _nameComparer;
    private FieldLayout[]? _toRequired;
    private Dictionary<string, FieldLayout>? _byName;
    private int _sizeHint;

    private MessageLayout(RpcMessageInfo type)
    {
        Type = type;
        WellKnown = WellKnownTypes.Of(type);
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
        Shape = MessageShape.Of(ScalarCount - DynamicMessage.OwnScalars, ReferenceCount);
        IsWide = Shape?.IsWide == true;
        ScalarOffset = Shape?.ScalarOffset ?? 0;
        ReferenceOffset = Shape?.ReferenceOffset ?? 0;
        RequiredBits = Required.Where(field => !field.IsReference)
            .GroupBy(field => field.PresenceWord, field => field.PresenceMask)
            .Select(word => (word.Key, word.Aggregate((bits, bit) => bits | bit)))
            .ToArray();
        RequiredReferences = Required.Where(field => field.IsReference).Select(field => field.Slot).ToArray();

        int dense = Math.Max(MinDenseNumbers, Fields.Length * DenseNumbersPerField);
        int largest = Fields.Select(
            field => field.Info.Number).Where(number => number < dense).Append(0).Max();
        _byNumber = new FieldLayout?[largest + 1];
        foreach (FieldLayout field in Fields.Where(field => field.Info.Number <= largest))
        {
            _byNumber[field.Info.Number] = field;
        }
        FieldLayout[] others = Fields.Where(field => field.Info.Number > largest).ToArray();
        _byLargeNumber = others.Length == 0 ? null : others.ToFrozenDictionary(field => field.Info.Number);
    }

    public RpcMessageInfo Type { get; }

    /// <summary>Which of the types with a shape of their own it is.</summary>
    public WellKnownType WellKnown { get; }

    /// <summary>Whether its extensions are items of a MessageSet on the wire.</summary>
    public bool IsMessageSet { get; }

    /// <summary>Fields and extensions by number.</summary>
    public FieldLayout[] Fields { get; }

    /// <summary>What a message counts for in an <see cref="ElementBudget"/>: one, and its fields. A value of
    /// JSON counts less, for it may have as little as two characters.</summary>
    public int Elements { get; }

    /// <summary>The fields that must be there.</summary>
    public FieldLayout[] Required { get; }

    /// <summary>The presence bits of the required scalars, by the scalar that holds them.</summary>
    public (int Word, ulong Bits)[] RequiredBits { get; }

    /// <summary>Where the required fields lie that are kept by reference.</summary>
    public int[] RequiredReferences { get; }

    /// <summary>The extensions, by number.</summary>
    public FieldLayout[] Extensions { get; }

    public int ScalarCount { get; private set; }

    public int ReferenceCount { get; private set; }

    /// <summary>How the stores of messages are made; null where they need none.</summary>
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
        .Where(candidate => candidate.IsMessage && candidate.Message.ReachesRequired([]))
        .ToArray();

    /// <summary>A little more than the last message of this type took, so that the buffer need not
    /// grow.</summary>
    public int SizeHint
    {
        get => _sizeHint;
        set
        {
            // All threads that send messages of the type read it, so it is written only when it changes.
            int hint = (int)Math.Min(value + (value / 8L), 1 << 20);
            if (hint != _sizeHint)
            {
                _sizeHint = hint;
            }
        }
    }

    /// <summary>Called when the whole of a message of this type is gone through, for tests that count; null
    /// for nobody.</summary>
    public Action<MessagePass>? Watch { get; set; }

    /// <summary>The layout of a type, compiled once.</summary>
    public static MessageLayout For(RpcMessageInfo type) =>
        Volatile.Read(ref type.Layout) is { } layout ? Unsafe.As<MessageLayout>(layout) : Compile(type);

    private static MessageLayout Compile(RpcMessageInfo type)
    {
        // All threads get the one that was there first: messages are of the same type if their layout is.
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

    // The names that are mostly used. The others are found by the type.
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

    private bool ReachesRequired(HashSet<MessageLayout> seen) =>
        seen.Add(this) &&
        (Required.Length > 0 || Fields.Any(field => field.IsMessage && field.Message.ReachesRequired(seen)));

    private void AssignSlots()
    {
        FieldLayout[] withBit = Fields.Where(field => !field.IsReference && field.HasPresence).ToArray();
        for (int i = 0; i < withBit.Length; i++)
        {
            withBit[i].PresenceWord = i / BitsPerWord;
            withBit[i].PresenceMask = 1UL << (i % BitsPerWord);
        }
        ScalarCount = (withBit.Length + BitsPerWord - 1) / BitsPerWord;

        foreach (RpcOneofInfo oneof in Type.Oneofs)
        {
            foreach (RpcFieldInfo member in oneof.Fields)
            {
                Fields.First(field => field.Info.Number == member.Number).CaseSlot = ScalarCount;
            }
            ScalarCount++;
        }

        foreach (FieldLayout field in Fields)
        {
            field.Slot = field.IsReference ? ReferenceCount++ : ScalarCount++;
            field.FindWay();
        }
    }
}

/// <summary>What goes through the whole of a message, and so costs as much as the message is large.</summary>
internal enum MessagePass
{
    /// <summary>The message is written in binary.</summary>
    Encode,

    /// <summary>The required fields are looked for, here and in nested messages, on their own or while the
    /// message is read.</summary>
    CheckRequired,
}
