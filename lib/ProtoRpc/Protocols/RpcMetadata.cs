using System.Collections;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc;

/// <summary>Headers or trailers of a call: names in lower case,
/// each with one value or more, in order.</summary>
/// <remarks>A value is text, or bytes if the name ends in <c>-bin</c>. Thread-safe. A loop enumerates the
/// values that existed when it began.</remarks>
/// <example><code>
/// RpcMetadata headers = new() { { "x-tenant", "blue" } };
/// headers.Set("x-key-bin", new byte[] { 1, 2 });
/// await client.InvokeAsync&lt;PlaceReply>("Place", request, new() { Headers = headers });
/// </code></example>
public sealed class RpcMetadata : IReadOnlyCollection<KeyValuePair<string, object>>
{
    private readonly List<KeyValuePair<string, object>> _entries = [];

    /// <summary>The number of values.</summary>
    public int Count
    {
        get
        {
            lock (_entries)
            {
                return _entries.Count;
            }
        }
    }

    /// <summary>The names, without duplicates.</summary>
    public IEnumerable<string> Names => Entries().Select(entry => entry.Key).Distinct();

    /// <summary>Adds a text value.</summary>
    /// <exception cref="RpcException">InvalidArgument: the name is invalid or is for bytes, or the value is
    /// not printable ASCII.</exception>
    public void Add(string name, string value)
    {
        ArgumentNullException.ThrowIfNull(value);
        CheckName(name);
        if (GrpcBinaryHeader.IsBinary(name))
        {
            throw Invalid(name, "its name ends in -bin, so its value is bytes, not text");
        }

        if (value.Any(c => c is < ' ' or > '~'))
        {
            throw Invalid(
                name,
                "its value must be printable ASCII. For bytes or other text, use a name that ends in -bin");
        }

        Append(name, value);
    }

    /// <summary>Adds bytes. The name must end in <c>-bin</c>.</summary>
    /// <exception cref="RpcException">InvalidArgument: the name is invalid, or is for text.</exception>
    public void Add(string name, byte[] value)
    {
        ArgumentNullException.ThrowIfNull(value);
        CheckName(name);
        if (!GrpcBinaryHeader.IsBinary(name))
        {
            throw Invalid(name, "its value is bytes, so its name must end in -bin");
        }

        Append(name, value);
    }

    /// <summary>Replaces all values of a name by a text.</summary>
    /// <exception cref="RpcException">As of <see cref="Add(string, string)"/>.</exception>
    public void Set(string name, string value)
    {
        lock (_entries)
        {
            int before = _entries.Count;
            Add(name, value);
            RemoveFirst(name, before);
        }
    }

    /// <summary>Replaces all values of a name by bytes. The name must end in <c>-bin</c>.</summary>
    /// <exception cref="RpcException">As of <see cref="Add(string, byte[])"/>.</exception>
    public void Set(string name, byte[] value)
    {
        lock (_entries)
        {
            int before = _entries.Count;
            Add(name, value);
            RemoveFirst(name, before);
        }
    }

    /// <summary>Removes all values of a name.</summary>
    /// <returns>Whether there were values.</returns>
    public bool Remove(string name)
    {
        lock (_entries)
        {
            return RemoveFirst(name, _entries.Count) > 0;
        }
    }

    /// <summary>The values of a name: strings or byte arrays.</summary>
    public IReadOnlyList<object> GetAll(string name) =>
        [.. Entries()
            .Where(entry => entry.Key.Equals(name, StringComparison.OrdinalIgnoreCase))
            .Select(entry => entry.Value)];

    /// <summary>The last text value of a name; null for none.</summary>
    public string? GetText(string name) => GetAll(name).OfType<string>().LastOrDefault();

    /// <summary>The last bytes of a name; null for none.</summary>
    public byte[]? GetBytes(string name) => GetAll(name).OfType<byte[]>().LastOrDefault();

    /// <inheritdoc/>
    public IEnumerator<KeyValuePair<string, object>> GetEnumerator() => Entries().GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    /// <summary>Whether a name says that its value proves who the caller is.</summary>
    internal bool HaveSecret => Entries().Exists(static entry => HeaderTrace.IsSecret(entry.Key));

    /// <summary>Copies the headers.</summary>
    internal RpcMetadata Copy()
    {
        RpcMetadata copy = new();
        copy._entries.AddRange(Entries());
        return copy;
    }

    /// <summary>The values of each name as one text, with bytes as base64.</summary>
    internal Dictionary<string, string> ToText() => Names.ToDictionary(
        name => name,
        name =>
            string.Join(", ", GetAll(name).Select(v => v as string ?? Convert.ToBase64String((byte[])v))));

    /// <summary>Adds a value that a peer sent, without validation.</summary>
    internal void AddReceived(string name, string line)
    {
        if (!GrpcBinaryHeader.IsBinary(name))
        {
            Append(name, line);
        }
        else if (GrpcBinaryHeader.Decode(line) is { } values)
        {
            foreach (byte[] value in values)
            {
                Append(name, value);
            }
        }
        else
        {
            throw GrpcDefects.BadHeader(name, line, "base64");
        }
    }

    private static void CheckName(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        if (name.Length == 0 || !name.All(c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_' or '.'))
        {
            throw Invalid(name, "its name must consist of ASCII letters, digits and - _ .");
        }
    }

    private static RpcException Invalid(string name, string why) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHeader,
        $"The header '{name}' cannot be sent: {why}.");

    private int RemoveFirst(string name, int count)
    {
        int index = 0;
        return _entries.RemoveAll(
            entry => index++ < count && entry.Key.Equals(name, StringComparison.OrdinalIgnoreCase));
    }

    private void Append(string name, object value)
    {
        lock (_entries)
        {
            _entries.Add(new(name.ToLowerInvariant(), value));
        }
    }

    private List<KeyValuePair<string, object>> Entries()
    {
        lock (_entries)
        {
            return [.. _entries];
        }
    }
}
