using System.Text.Encodings.Web;
using System.Text.Json;
using System.Threading.Channels;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Transports.Files;

namespace ProtoRpc.Server.Recording;

/// <summary>Writes calls to a file, on a separate thread.</summary>
internal sealed class RecordWriter : IDisposable
{
    private const int MaxBatchBytes = 1024 * 1024;

    private readonly Channel<RpcRecordedCall> _queue =
        Channel.CreateUnbounded<RpcRecordedCall>(new() { SingleReader = true });

    private readonly ArrayBufferWriter<byte> _batch = new();
    private readonly AppendedFile _file;
    private readonly RecordLine _line;
    private readonly RpcCallRecorderOptions _options;
    private readonly Task _loop;
    private long _waitingBytes;
    private int _waiting;
    private long _written;
    private long _lost;
    private bool _fails;

    /// <summary>Opens or creates the file, which only its owner can read and write.</summary>
    /// <exception cref="RpcException">The file cannot be written, and why.</exception>
    public RecordWriter(string path, RecordLine line, RpcCallRecorderOptions options)
    {
        _file = Open(path);
        _line = line;
        _options = options;
        _loop = Task.Run(RunAsync);
    }

    public long Written => Volatile.Read(ref _written);

    public long Lost => Volatile.Read(ref _lost);

    /// <summary>Queues a call that has ended; counts it as lost where too many wait.</summary>
    public void Add(RpcRecordedCall call)
    {
        int waiting = Interlocked.Increment(ref _waiting);
        long bytes = Interlocked.Add(ref _waitingBytes, call.Bytes);
        if (waiting > _options.MaxQueuedCalls || bytes > _options.MaxQueuedBytes
            || !_queue.Writer.TryWrite(call))
        {
            Release(call);
            Interlocked.Increment(ref _lost);
        }
    }

    /// <summary>Writes what waits, and closes the file.</summary>
    public void Dispose()
    {
        if (!_queue.Writer.TryComplete())
        {
            return;
        }

        _loop.GetAwaiter().GetResult();
        _file.Dispose();
        if (Lost > 0)
        {
            Warn($"{Lost} calls were not recorded to '{_file.Path}'; {Written} calls were recorded.");
        }
    }

    private static AppendedFile Open(string path)
    {
        try
        {
            AppendedFile file = new(path);
            file.Append(default);
            return file;
        }
        catch (Exception e) when (AppendedFile.IsRefusal(e))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.CannotWriteFile,
                $"Calls cannot be recorded to '{path}': {FileProblem.Describe(e, path)}.", e);
        }
    }

    private async Task RunAsync()
    {
        while (await _queue.Reader.WaitToReadAsync().ConfigureAwait(false))
        {
            int calls = 0;
            while (_batch.WrittenCount < MaxBatchBytes && _queue.Reader.TryRead(out RpcRecordedCall? call))
            {
                calls += TryWrite(call) ? 1 : 0;
                Release(call);
            }

            Flush(calls);
            _batch.ResetWrittenCount();
        }
    }

    private void Release(RpcRecordedCall call)
    {
        Interlocked.Decrement(ref _waiting);
        Interlocked.Add(ref _waitingBytes, -call.Bytes);
    }

    private bool TryWrite(RpcRecordedCall call)
    {
        try
        {
            _batch.Write(_line.Write(call));
            return true;
        }
        catch (Exception e)
        {
            // A call that cannot be written must not end the recording of the next calls.
            Interlocked.Increment(ref _lost);
            Warn($"A call of {call.Method.FullName} was not recorded to '{_file.Path}': {e.Message}");
            return false;
        }
    }

    private void Flush(int calls)
    {
        try
        {
            _file.Append(_batch.WrittenMemory);
            Interlocked.Add(ref _written, calls);
            if (_fails)
            {
                _fails = false;
                Warn($"Calls are recorded to '{_file.Path}' again; {Lost} calls were not recorded.");
            }
        }
        catch (Exception e) when (AppendedFile.IsRefusal(e))
        {
            Interlocked.Add(ref _lost, calls);
            if (!_fails)
            {
                _fails = true;
                Warn(
                    $"Calls cannot be recorded to '{_file.Path}': {FileProblem.Describe(e, _file.Path)}. "
                    + "The calls are still served.");
            }
        }
    }

    private void Warn(string text)
    {
        try
        {
            _options.Warning?.Invoke(TerminalText.Neutralize(text));
        }
        catch (Exception)
        {
            // An exception of the warning callback must not end the recording.
        }
    }
}

/// <summary>Makes a line of JSON of a call. Used by one thread.</summary>
/// <param name="mask">The fields that are not written.</param>
internal sealed class RecordLine(MessageMask mask)
{
    private const int MinSecretLength = 3;
    private const string Hidden = MessageMask.Hidden;

    private static readonly JsonWriterOptions Writing = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        SkipValidation = true,
    };

    private readonly ArrayBufferWriter<byte> _line = new();
    private readonly ArrayBufferWriter<byte> _message = new();

    /// <summary>The line with its end, valid until the next one.</summary>
    public ReadOnlySpan<byte> Write(RpcRecordedCall call)
    {
        _line.ResetWrittenCount();
        using (Utf8JsonWriter json = new(_line, Writing))
        {
            Write(json, call);
        }

        _line.Write("\n"u8);
        return _line.WrittenSpan;
    }

    private void Write(Utf8JsonWriter json, RpcRecordedCall call)
    {
        HashSet<string> hidden = [.. call.Secrets];
        json.WriteStartObject();
        json.WriteString(RecordNames.Time, call.Time.UtcDateTime);
        json.WriteString(RecordNames.Method, call.Method.FullName);
        json.WriteString(RecordNames.Peer, call.Peer);
        json.WriteString(RecordNames.User, call.User);
        Write(
            json, call.Requests, call.Method.IsClientStreaming, RecordNames.Request, RecordNames.Requests,
            hidden);
        Write(
            json, call.Replies, call.Method.IsServerStreaming, RecordNames.Reply, RecordNames.Replies,
            hidden);
        json.WriteString(RecordNames.Status, (call.Status ?? RpcStatusCode.Unknown).ToString());
        if (call.Status != RpcStatusCode.OK)
        {
            WriteFailure(json, call, hidden);
        }

        json.WriteNumber(
            RecordNames.Milliseconds, Math.Round((call.Duration ?? TimeSpan.Zero).TotalMilliseconds, 3));
        WriteMarks(json, call);
        json.WriteEndObject();
    }

    private void WriteMarks(Utf8JsonWriter json, RpcRecordedCall call)
    {
        if (mask.Names.Count > 0)
        {
            json.WriteStartArray(RecordNames.Mask);
            foreach (string name in mask.Names)
            {
                json.WriteStringValue(name);
            }

            json.WriteEndArray();
        }

        if (call.IsTruncated)
        {
            json.WriteBoolean(RecordNames.Truncated, true);
        }
    }

    private void WriteFailure(Utf8JsonWriter json, RpcRecordedCall call, HashSet<string> hidden)
    {
        List<DynamicMessage> details = [.. call.Details.Select(detail => ToDynamic(detail, call.Method))
            .OfType<DynamicMessage>()];
        details.ForEach(detail => mask.Apply(detail, hidden));
        string[] secrets =
        [
            .. hidden.Where(secret => secret.Length >= MinSecretLength)
                .OrderByDescending(secret => secret.Length),
        ];
        string text = call.Message;
        foreach (string secret in secrets)
        {
            // The text has no control characters, and a password may have some.
            text = text.Replace(secret, Hidden, StringComparison.Ordinal)
                .Replace(TerminalText.Neutralize(secret), Hidden, StringComparison.Ordinal);
        }

        json.WriteString(RecordNames.Message, text);

        // The handler may have copied a masked value into a text of a detail.
        details.RemoveAll(detail => Array.Exists(secrets, secret => Contains(detail, secret)));
        if (details.Count == 0)
        {
            return;
        }

        json.WriteStartArray(RecordNames.Details);
        foreach (DynamicMessage detail in details)
        {
            json.WriteStartObject();
            json.WriteString(RecordNames.Type, detail.Type.FullName);
            json.WritePropertyName(RecordNames.Value);
            WriteMessage(json, detail);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private void Write(
        Utf8JsonWriter json, IReadOnlyList<DynamicMessage> messages, bool isStream, string one, string many,
        HashSet<string> hidden)
    {
        if (isStream)
        {
            json.WriteStartArray(many);
        }
        else if (messages.Count == 0)
        {
            return;
        }
        else
        {
            json.WritePropertyName(one);
        }

        foreach (DynamicMessage message in messages)
        {
            mask.Apply(message, hidden);
            WriteMessage(json, message);
        }

        if (isStream)
        {
            json.WriteEndArray();
        }
    }

    private void WriteMessage(Utf8JsonWriter json, DynamicMessage message)
    {
        _message.ResetWrittenCount();
        try
        {
            MessageFormats.Json.Write(message, _message);
            json.WriteRawValue(_message.WrittenSpan, skipInputValidation: true);
        }
        catch (RpcException e)
        {
            // The message has no JSON, for example because its Timestamp is out of range.
            json.WriteStartObject();
            if (mask.Names.Count == 0)
            {
                json.WriteBase64String(RecordNames.Binary, message.ToByteArray());
            }
            else
            {
                json.WriteString(RecordNames.Unwritable, e.ErrorId);
            }

            json.WriteEndObject();
        }
    }

    private static bool Contains(DynamicMessage message, string text) =>
        message.ToByteArray().AsSpan().IndexOf(Encoding.UTF8.GetBytes(text)) >= 0;

    private static DynamicMessage? ToDynamic(IMessage detail, RpcMethodInfo method)
    {
        string name = detail.Descriptor.FullName;
        if ((GrpcStatusDetails.Schema.FindMessage(name) ?? method.RequestType.Schema.FindMessage(name))
            is not { } type)
        {
            return null;
        }

        DynamicMessage copy = new(type);
        copy.MergeFrom(detail.ToByteArray());
        return copy;
    }
}

/// <summary>The members of a line of recorded calls.</summary>
internal static class RecordNames
{
    public const string Time = "time";
    public const string Method = "method";
    public const string Peer = "peer";
    public const string User = "user";
    public const string Request = "request";
    public const string Requests = "requests";
    public const string Reply = "reply";
    public const string Replies = "replies";
    public const string Status = "status";
    public const string Message = "message";
    public const string Details = "details";
    public const string Milliseconds = "milliseconds";
    public const string Mask = "mask";
    public const string Truncated = "truncated";

    /// <summary>In the place of a message that has no JSON form: its bytes as base64.</summary>
    public const string Binary = "@binary";

    /// <summary>In the place of a message that has no JSON form, where masks forbid its bytes.</summary>
    public const string Unwritable = "@unwritable";

    /// <summary>The full name of a detail's type.</summary>
    public const string Type = "@type";

    /// <summary>A detail's message.</summary>
    public const string Value = "value";
}
