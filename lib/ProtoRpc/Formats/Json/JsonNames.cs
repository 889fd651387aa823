using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

/// <summary>The names of a message's fields in JSON:
/// encoded for writing, by their bytes for reading.</summary>
internal sealed class JsonNames
{
    private static readonly ConditionalWeakTable<MessageLayout, JsonNames> Known = [];

    private readonly Dictionary<byte[], FieldLayout> _byName = new(Utf8Comparer.Instance);
    private readonly Dictionary<byte[], FieldLayout>.AlternateLookup<ReadOnlySpan<byte>> _lookup;
    private readonly JsonEncodedText[] _jsonNames;
    private readonly JsonEncodedText[] _protoNames;

    private JsonNames(MessageLayout layout)
    {
        _jsonNames = Array.ConvertAll(layout.Fields, field => Encode(field.Info.JsonKey));
        _protoNames = Array.ConvertAll(layout.Fields, field => Encode(field.Info.Name));
        // A JSON name before the original name of another field.
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
    }

    public static JsonNames Of(MessageLayout layout) =>
        Known.TryGetValue(layout, out JsonNames? names)
            ? names
            : Known.GetValue(layout, missing => new JsonNames(missing));

    public FieldLayout? Find(ReadOnlySpan<byte> name) =>
        _lookup.TryGetValue(name, out FieldLayout? field) ? field : null;

    public JsonEncodedText For(FieldLayout field, bool proto) =>
        (proto ? _protoNames : _jsonNames)[field.Index];

    private static JsonEncodedText Encode(string name) =>
        JsonEncodedText.Encode(name, JavaScriptEncoder.UnsafeRelaxedJsonEscaping);

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
