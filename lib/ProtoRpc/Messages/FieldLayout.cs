using System.Collections.Frozen;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Schema;

namespace ProtoRpc.Messages;

/// <summary>Where a field lies in a <see cref="DynamicMessage"/> and how it is written.</summary>
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

        uint wireType = (uint)FieldWireTypes.Of(Kind);
        Tag = WireType.MakeTag(info.Number, wireType);
        TagSize = WireWriter.VarintSize(Tag);
        bool packable = IsRepeated && wireType
            is WireType.Varint or WireType.Fixed32 or WireType.Fixed64;
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

    /// <summary>Whether it is written as an item of a MessageSet.</summary>
    public bool IsMessageSetItem { get; }

    public bool IsRequired { get; }

    public bool HasPresence { get; }

    public bool ValidatesUtf8 { get; }

    /// <summary>Whether the value lies in the references; otherwise it lies in the scalars.</summary>
    public bool IsReference { get; }

    /// <summary>The tag of the value, or of one element.</summary>
    public uint Tag { get; }

    /// <summary>The size of the tag in bytes; it is the same for every wire type.</summary>
    public int TagSize { get; }

    /// <summary>The tag of a packed field; 0 where it cannot be packed.</summary>
    public uint PackedTag { get; }

    /// <summary>The tag that ends a group.</summary>
    public uint EndTag { get; }

    /// <summary>The type of an enum.</summary>
    public RpcEnumInfo? Enum { get; }

    /// <summary>The numbers that a closed enum takes; null for an open one.</summary>
    public FrozenSet<int>? ClosedNumbers { get; }

    /// <summary>The index among the scalars or among the references.</summary>
    public int Slot { get; internal set; }

    /// <summary>The slot with the presence bit of a scalar; 0 if it has none.</summary>
    public int PresenceWord { get; internal set; }

    /// <summary>The presence bit of a scalar; 0 if it has none.</summary>
    public ulong PresenceMask { get; internal set; }

    /// <summary>The slot with the oneof's set member (index + 1); -1 outside of a oneof.</summary>
    public int CaseSlot { get; internal set; } = -1;

    /// <summary>The .NET type of the value; null where there may be many.</summary>
    public Type? SingleType { get; }

    /// <summary>A name that the field was asked for by. Programs name it by the same object each
    /// time.</summary>
    public string? KnownName { get; set; }

    /// <summary>How it is read and written.</summary>
    public FieldWay Way { get; private set; }

    /// <summary>The layout of a message, a group or a map's entry.</summary>
    /// <remarks>Found when it is first needed, for types contain themselves.</remarks>
    public MessageLayout Message => _message ??= MessageLayout.For(Info.MessageType!);

    /// <summary>The key of a map.</summary>
    public FieldLayout Key => Message.Fields[0];

    /// <summary>The value of a map.</summary>
    public FieldLayout Value => Message.Fields[1];

    /// <summary>Finds the way, once it is known where the field lies.</summary>
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
