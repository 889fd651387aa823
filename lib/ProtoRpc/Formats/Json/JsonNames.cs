using System.Buffers.Text;
using System.Runtime.CompilerServices;
using System.Text.Encodings.Web;
using System.Text.Json;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

/// <summary>The names of a message's fields in JSON:
/// encoded for writing, by their bytes for reading.</summary>
internal sealed class JsonNames
{
    private static readonly ConditionalWeakTable<MessageLayout, JsonNames> Known = [];

    // Not valid UTF-8, so it differs from every name.
    private static readonly byte[] NoName = [0xFF];

    private readonly Dictionary<byte[], FieldLayout> _byName = new(Utf8Comparer.Instance);
    private readonly Dictionary<byte[], FieldLayout>.AlternateLookup<ReadOnlySpan<byte>> _lookup;
    private readonly byte[][] _jsonNames;
    private readonly byte[][] _protoNames;
    private readonly (byte[] Name, FieldLayout Field)[] _inOrder;
    private readonly int[] _order;

    private JsonNames() => (_jsonNames, _protoNames, _inOrder, _order) = ([], [], [], []);

    private JsonNames(MessageLayout layout)
    {
        Layout = layout;
        _jsonNames = Array.ConvertAll(layout.Fields, field => Encode(field.Info.JsonKey));
        _protoNames = Array.ConvertAll(layout.Fields, field => Encode(field.Info.Name));
        // The JSON name of a field has priority over the original name of another field.
        foreach (FieldLayout field in layout.Fields)
        {
            _byName.TryAdd(Encoding.UTF8.GetBytes(field.Info.JsonKey), field);
        }
        foreach (FieldLayout field in layout.Fields)
        {
            _byName.TryAdd(Encoding.UTF8.GetBytes(field.Info.Name), field);
        }
        foreach (FieldLayout field in layout.Extensions.Where(field => field.Info.MessageSetName is not null))
        {
            _byName.TryAdd(Encoding.UTF8.GetBytes(field.Info.MessageSetName!), field);
        }
        _lookup = _byName.GetAlternateLookup<ReadOnlySpan<byte>>();
        _inOrder = [.. layout.Shown.Concat(layout.Extensions).Select(field => (NameOf(field), field))];
        _order = new int[layout.Fields.Length];
        for (int i = 0; i < _inOrder.Length; i++)
        {
            _order[_inOrder[i].Field.Index] = i;
        }
    }

    /// <summary>The names of no message.</summary>
    public static JsonNames None { get; } = new();

    /// <summary>The message; null for none.</summary>
    public MessageLayout? Layout { get; }

    public static JsonNames From(MessageLayout layout) =>
        Known.TryGetValue(layout, out JsonNames? names)
            ? names
            : Known.GetValue(layout, missing => new JsonNames(missing));

    /// <summary>The field of a name; null for none.</summary>
    /// <param name="name">The name, without escapes.</param>
    /// <param name="next">The field that most likely follows, because writers keep the order; 0 at
    /// first.</param>
    public FieldLayout? Find(ReadOnlySpan<byte> name, ref int next)
    {
        if (next < _inOrder.Length && name.SequenceEqual(_inOrder[next].Name))
        {
            return _inOrder[next++].Field;
        }

        if (!_lookup.TryGetValue(name, out FieldLayout? field))
        {
            return null;
        }

        next = _order[field.Index] + 1;
        return field;
    }

    public ReadOnlySpan<byte> For(FieldLayout field, bool proto) =>
        (proto ? _protoNames : _jsonNames)[field.Index];

    // If two fields have the same name, the name belongs to the first one.
    private byte[] NameOf(FieldLayout field)
    {
        byte[] name = Encoding.UTF8.GetBytes(field.Info.JsonKey);
        return _byName[name] == field ? name : NoName;
    }

    // The encoded name includes its quotes and the colon.
    private static byte[] Encode(string name) =>
    [
        (byte)'"',
        .. JsonEncodedText.Encode(name, JavaScriptEncoder.UnsafeRelaxedJsonEscaping).EncodedUtf8Bytes,
        (byte)'"', (byte)':',
    ];

    private sealed class Utf8Comparer
        : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
    {
        public static Utf8Comparer Instance { get; } = new();

        public bool Equals(byte[]? left, byte[]? right) => left.AsSpan().SequenceEqual(right);

        public int GetHashCode(byte[] name) => GetHashCode(name.AsSpan());

        public bool Equals(ReadOnlySpan<byte> name, byte[] other) => name.SequenceEqual(other);

        public int GetHashCode(ReadOnlySpan<byte> name)
        {
            HashCode hash = default;
            hash.AddBytes(name);
            return hash.ToHashCode();
        }

        public byte[] Create(ReadOnlySpan<byte> name) => name.ToArray();
    }
}

/// <summary>Reads the numbers of JSON exactly, in quotes too: <c>1e3</c> and <c>5.0</c> are also whole
/// numbers.</summary>
internal static class JsonNumber
{
    private const NumberStyles FloatStyle =
        NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent;

    /// <returns>The error, or null.</returns>
    public static string? Read(FieldLayout field, ReadOnlySpan<byte> text, out ulong bits)
    {
        bits = 0;
        switch (field.Kind)
        {
            case RpcFieldKind.Double:
                if (!IsNumber(text) ||
                    !double.TryParse(text, FloatStyle, CultureInfo.InvariantCulture, out double real))
                {
                    return "is not a number; give a number, 'NaN', 'Infinity' or '-Infinity'.";
                }
                bits = ScalarValue.ToBits(real);
                return double.IsFinite(real) ? null : "does not fit into double.";
            case RpcFieldKind.Float:
                if (!IsNumber(text) ||
                    !float.TryParse(text, FloatStyle, CultureInfo.InvariantCulture, out float single))
                {
                    return "is not a number; give a number, 'NaN', 'Infinity' or '-Infinity'.";
                }
                bits = ScalarValue.ToBits(single);
                return float.IsFinite(single) ? null : "does not fit into float.";
            default:
                return ReadWhole(field, text, out bits);
        }
    }

    private static string? ReadWhole(FieldLayout field, ReadOnlySpan<byte> text, out ulong bits)
    {
        // Fast path: most numbers have few digits.
        bool isNumber = IsNumber(text);
        if (isNumber && Utf8Parser.TryParse(text, out long plain, out int length)
            && length == text.Length && IsInRange(field.Kind, plain))
        {
            bits = (ulong)plain;
            return null;
        }

        (Int128 min, Int128 max) = RangeOf(field.Kind);
        if (!isNumber || !NumberText.TryReadWhole(text, out Int128 whole))
        {
            bits = 0;
            return $"is not a whole number; {field.Info.TypeName} takes numbers from {min} to {max}.";
        }
        bits = unchecked((ulong)whole);
        return whole >= min && whole <= max
            ? null
            : $"does not fit into {field.Info.TypeName}, which takes numbers from {min} to {max}.";
    }

    // The grammar of RFC 8259, also for numbers in quotes: no plus sign, no spaces, no leading zeros.
    private static bool IsNumber(ReadOnlySpan<byte> text)
    {
        int at = text is [(byte)'-', ..] ? 1 : 0;
        int whole = CountDigits(text[at..]);
        if (whole == 0 || (whole > 1 && text[at] == '0'))
        {
            return false;
        }
        at += whole;
        if (at < text.Length && text[at] == '.')
        {
            int fraction = CountDigits(text[++at..]);
            if (fraction == 0)
            {
                return false;
            }
            at += fraction;
        }
        if (at == text.Length)
        {
            return true;
        }
        if (text[at++] is not ((byte)'e' or (byte)'E'))
        {
            return false;
        }
        at += at < text.Length && text[at] is (byte)'+' or (byte)'-' ? 1 : 0;
        int exponent = CountDigits(text[at..]);
        return exponent > 0 && at + exponent == text.Length;
    }

    private static int CountDigits(ReadOnlySpan<byte> text)
    {
        int end = text.IndexOfAnyExceptInRange((byte)'0', (byte)'9');
        return end < 0 ? text.Length : end;
    }

    // Fast path: arithmetic with 128 bits is slower.
    private static bool IsInRange(RpcFieldKind kind, long number) => kind switch
    {
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => true,
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => number >= 0,
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (uint)number == number,
        _ => (int)number == number,
    };

    private static (Int128 Min, Int128 Max) RangeOf(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => (long.MinValue, long.MaxValue),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => (0, ulong.MaxValue),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (0, uint.MaxValue),
        _ => (int.MinValue, int.MaxValue),
    };
}
