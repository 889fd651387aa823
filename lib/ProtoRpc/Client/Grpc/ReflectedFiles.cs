using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Client.Grpc;

/// <summary>Collects the files that a reflection service sends, whatever their names and order.</summary>
/// <param name="server">The server, for error messages.</param>
internal sealed class ReflectedFiles(string server)
{
    /// <summary>The most files of a server, because it may be hostile or broken.</summary>
    public const int MaxFiles = 10_000;

    /// <summary>The most bytes of these files.</summary>
    public const long MaxBytes = 64 * 1024 * 1024;

    // A text of the server is cut off at this length.
    private const int MaxError = 500;

    private readonly Dictionary<string, DescriptorFile> _files = new(StringComparer.Ordinal);
    private readonly HashSet<string> _services = new(StringComparer.Ordinal);
    private readonly HashSet<ByteString> _seen = [];
    private readonly Queue<DescriptorFile> _unread = new();
    private readonly List<string> _warnings = [];
    private long _bytes;

    /// <summary>The files; each has its own name.</summary>
    public IReadOnlyCollection<DescriptorFile> Files => _files.Values;

    /// <summary>Files that were left out.</summary>
    public IReadOnlyList<string> Warnings => _warnings;

    /// <summary>Whether a file has a name.</summary>
    public bool Contains(string name) => _files.ContainsKey(name);

    /// <summary>Whether a file declares a service.</summary>
    public bool Declares(string service) => _services.Contains(service);

    /// <summary>A file whose imports were not read; null for none. Each file is returned once: a hostile
    /// server that omits files would otherwise cause all files to be checked again for each of
    /// them.</summary>
    public DescriptorFile? NextUnread() => _unread.TryDequeue(out DescriptorFile? file) ? file : null;

    /// <summary>Adds the files of a reply.</summary>
    /// <param name="answer">The reply.</param>
    /// <param name="asked">The requested name, for a file without a name.</param>
    /// <returns>Null, or why the reply has no file.</returns>
    /// <exception cref="RpcException">ResourceExhausted: the server sends too much.</exception>
    public string? Add(ReflectionAnswer answer, string asked)
    {
        if (answer.Error is { } error)
        {
            return error.Length == 0 ? "The server returns an error without a message."
                : (error.Length <= MaxError ? error : $"{error[..MaxError]}...").ReplaceLineEndings(" ");
        }

        if (answer.Reply?.FileDescriptorResponse is not { } reply)
        {
            return "The server's answer is not a file.";
        }

        foreach (ByteString bytes in reply.FileDescriptorProto)
        {
            // Servers return the same files in several replies.
            if (!_seen.Add(bytes))
            {
                continue;
            }

            _bytes += bytes.Length;
            if (_bytes > MaxBytes || _files.Count >= MaxFiles)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted, RpcErrorIds.BadReflection,
                    $"The reflection service of '{server}' cannot be used: it sends more than "
                    + $"{MaxFiles:N0} files or {MaxBytes:N0} bytes of schema. "
                    + "Give a schema: its .proto files or a descriptor set.");
            }

            Parse(bytes, asked);
        }

        return null;
    }

    private void Parse(ByteString bytes, string asked)
    {
        DescriptorFile file;
        try
        {
            file = DescriptorFile.Parse(bytes, $"the reflection of {server}");
        }
        catch (RpcException e)
        {
            _warnings.Add($"{e.Message} It is left out.");
            return;
        }

        string name = file.Name;
        if (name.Length == 0)
        {
            name = asked.EndsWith(".proto", StringComparison.Ordinal) ? asked : $"{asked}.proto";
        }

        if (_files.TryGetValue(name, out DescriptorFile? known))
        {
            if (DescriptorFileMerge.IsSame(known, file))
            {
                return;
            }

            // Another file has the name already, for example because the server gives the same placeholder to
            // all files whose names it does not have.
            name = DescriptorFile.FreeName(name, "other", _files.ContainsKey);
        }

        Add(name == file.Name ? file : Renamed(file, name));
    }

    private static DescriptorFile Renamed(DescriptorFile file, string name)
    {
        FileDescriptorProto proto = file.Proto.Clone();
        proto.Name = name;
        return new DescriptorFile(proto.ToByteString(), proto, file.Origin);
    }

    private void Add(DescriptorFile file)
    {
        _files.Add(file.Name, file);
        _unread.Enqueue(file);
        _services.UnionWith(file.ServiceNames);
    }
}
