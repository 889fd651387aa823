using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Schema;

/// <summary>Symbols to ask a server for.</summary>
/// <param name="Symbols">The full names of services, types or extensions.</param>
internal sealed record SymbolQuery(params IReadOnlyCollection<string> Symbols)
{
    /// <summary>The full name of the message whose extension is asked for; null for none.</summary>
    public string? Extendee { get; init; }

    /// <summary>The number of the extension.</summary>
    public int Number { get; init; }
}

/// <summary>The types and extensions that a server declares in addition to those of its services. They are
/// requested when a message refers to them.</summary>
/// <remarks> Types that the server does not declare remain unknown. Thread-safe; a caller waits for the
/// reply. A hostile message may name any number of types, so there are limits. </remarks>
/// <param name="ask">Asks the server; null if it does not declare a symbol.</param>
/// <param name="time">The clock.</param>
internal sealed class FurtherTypes(Func<SymbolQuery, RpcSchema?> ask, TimeProvider time)
{
    /// <summary>The most questions in <see cref="Window"/>.</summary>
    public const int MaxQuestions = 100;

    // Limits for the life of the connection. Each reply becomes a separate schema.
    private const int MaxAnswers = 1000;
    private const long MaxBytes = 64 * 1024 * 1024;

    /// <summary>The time in which requests are counted. A type that the server does not declare, or does not
    /// send, is requested again after it.</summary>
    public static readonly TimeSpan Window = TimeSpan.FromMinutes(1);

    private readonly Lock _gate = new();
    private readonly Dictionary<string, RpcMessageInfo> _messages = new(StringComparer.Ordinal);
    private readonly Dictionary<SymbolKey, RpcMessageInfo> _extended = [];
    private readonly HashSet<SymbolKey> _asked = [];
    private long _began;
    private bool _isSilent;
    private int _answers;
    private long _bytes;

    /// <summary>A message by its exact full name; null if the server does not declare it.</summary>
    public RpcMessageInfo? FindMessage(string fullName)
    {
        if (!NameCheck.IsFullName(fullName))
        {
            return null;
        }

        lock (_gate)
        {
            if (!_messages.ContainsKey(fullName)
                && Ask(new SymbolKey(fullName, 0), new SymbolQuery(fullName)) is { } schema)
            {
                foreach (RpcMessageInfo message in schema.Messages)
                {
                    _messages.TryAdd(message.FullName, message);
                }
            }

            return _messages.GetValueOrDefault(fullName);
        }
    }

    /// <summary>A message of a schema that has the extension of a number; null if the server does not declare
    /// the extension.</summary>
    public RpcMessageInfo? FindExtended(string extendee, int number) => FindExtended(
        new SymbolKey(extendee, number), new SymbolQuery { Extendee = extendee, Number = number }, extendee,
        message => message.FindField(number));

    /// <summary>A message of a schema that has an extension; null if the server does not declare the
    /// extension.</summary>
    public RpcMessageInfo? FindExtended(string extendee, string extension) =>
        NameCheck.IsFullName(extension)
            ? FindExtended(
                new SymbolKey($"{extendee} {extension}", 0), new SymbolQuery(extension), extendee,
                message => message.FindField($"[{extension}]"))
            : null;

    private RpcMessageInfo? FindExtended(
        SymbolKey key, SymbolQuery query, string extendee, Func<RpcMessageInfo, RpcFieldInfo?> find)
    {
        lock (_gate)
        {
            if (!_extended.TryGetValue(key, out RpcMessageInfo? extended)
                && Ask(key, query)?.FindMessage(extendee) is { } message
                && find(message) is { IsExtension: true } extension)
            {
                extended = message;
                _extended[key] = message;
                _extended[new SymbolKey(extendee, extension.Number)] = message;
            }

            return extended;
        }
    }

    private RpcSchema? Ask(SymbolKey key, SymbolQuery query)
    {
        if (_began == 0 || time.GetElapsedTime(_began) >= Window)
        {
            _began = time.GetTimestamp();
            _asked.Clear();
            _isSilent = false;
        }

        if (_isSilent || _asked.Count >= MaxQuestions || _answers >= MaxAnswers || _bytes >= MaxBytes
            || !_asked.Add(key))
        {
            return null;
        }

        try
        {
            if (ask(query) is not { } schema)
            {
                return null;
            }

            schema.Further = this;
            _answers++;
            _bytes += schema.SchemaFiles.Sum(file => (long)file.Bytes.Length);
            return schema;
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException or ObjectDisposedException)
        {
            // The server does not reply, so further questions would time out as well.
            _isSilent = true;
            return null;
        }
    }

    // Number is the number of an extension, or 0 for a message.
    private readonly record struct SymbolKey(string Name, int Number);
}
