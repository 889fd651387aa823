using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>A file that is not linked yet.</summary>
/// <param name="Bytes">The serialized FileDescriptorProto.</param>
/// <param name="Proto">The same, parsed.</param>
/// <param name="Origin">The source of the file, for errors.</param>
internal sealed record DescriptorFile(ByteString Bytes, FileDescriptorProto Proto, string Origin)
{
    public string Name => Proto.Name;

    /// <summary>The full names of the services.</summary>
    public IEnumerable<string> ServiceNames =>
        Proto.Service.Select(service => FullName(Proto.Package, service.Name));

    /// <summary>The full name of a declaration in a package.</summary>
    public static string FullName(string package, string name) =>
        package.Length == 0 ? name : $"{package}.{name}";

    public static DescriptorFile Parse(ByteString bytes, string origin)
    {
        try
        {
            return Parse(bytes, origin, isRepaired: false);
        }
        // The parser also throws other kinds of exceptions on hostile input.
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            throw SchemaError.Invalid($"A file descriptor in {origin} cannot be read: {e.Message}", e);
        }
    }

    // protoc copies comments and defaults of proto2 in any encoding, but the parser only accepts UTF-8.
    private static DescriptorFile Parse(ByteString bytes, string origin, bool isRepaired)
    {
        try
        {
            return new DescriptorFile(bytes, FileDescriptorProto.Parser.ParseFrom(bytes), origin);
        }
        catch (InvalidProtocolBufferException e) when (
            e.InnerException is DecoderFallbackException && !isRepaired)
        {
            ByteString repaired = TextRepair.Repair(bytes, FileDescriptorProto.Descriptor);
            return Parse(repaired, origin, isRepaired: true);
        }
    }

    /// <summary>A name for a file whose own name another one has, since a name is only unique among files
    /// that were made together.</summary>
    /// <param name="name">Its own name.</param>
    /// <param name="label">Goes before it.</param>
    /// <param name="isTaken">Whether a file has a name already.</param>
    public static string FreeName(string name, string label, Func<string, bool> isTaken)
    {
        string free = $"{label}/{name}";
        for (int i = 2; isTaken(free); i++)
        {
            free = $"{label}{i}/{name}";
        }

        return free;
    }

    /// <summary>A copy of the parsed file with new names for itself and its imports; null if none of them is
    /// renamed.</summary>
    public FileDescriptorProto? Renamed(IReadOnlyDictionary<string, string> names)
    {
        if (!names.ContainsKey(Name)
            && !Proto.Dependency.Concat(Proto.OptionDependency).Any(names.ContainsKey))
        {
            return null;
        }

        FileDescriptorProto proto = Proto.Clone();
        proto.Name = names.GetValueOrDefault(proto.Name, proto.Name);
        Rename(proto.Dependency, names);
        Rename(proto.OptionDependency, names);
        return proto;
    }

    private static void Rename(IList<string> imports, IReadOnlyDictionary<string, string> names)
    {
        for (int i = 0; i < imports.Count; i++)
        {
            imports[i] = names.GetValueOrDefault(imports[i], imports[i]);
        }
    }
}

/// <summary>Puts the files of several compilations and descriptor sets together.</summary>
internal sealed class DescriptorFileMerge
{
    private readonly Dictionary<string, DescriptorFile> _files = new(StringComparer.Ordinal);
    private readonly List<string> _rootFiles = [];

    public IReadOnlyList<DescriptorFile> Files => [.. _files.Values];

    public IReadOnlyList<string> RootFiles => _rootFiles;

    /// <summary>Whether two files of one name are the same. The well-known files grow from release to
    /// release; the first one serves for all.</summary>
    public static bool IsSame(DescriptorFile a, DescriptorFile b) =>
        a.Bytes.Equals(b.Bytes)
        || (IsWellKnown(a.Proto) && IsWellKnown(b.Proto))
        || WithoutSource(a.Proto).Equals(WithoutSource(b.Proto));

    /// <summary>Adds files that know each other by name.</summary>
    /// <param name="files">The files.</param>
    /// <param name="rootFiles">Those that were asked for.</param>
    /// <param name="label">
    /// Goes before the name of a file whose name another one has already, since a name is only unique
    /// among files that were made together.
    /// </param>
    public void Add(IReadOnlyList<DescriptorFile> files, IReadOnlyList<string> rootFiles, string label)
    {
        Dictionary<string, string> renamed = new(StringComparer.Ordinal);
        foreach (DescriptorFile file in files)
        {
            if (_files.TryGetValue(file.Name, out DescriptorFile? known) && !IsSame(known, file))
            {
                renamed[file.Name] = DescriptorFile.FreeName(
                    file.Name, label, name => _files.ContainsKey(name) || files.Any(f => f.Name == name));
            }
        }

        foreach (DescriptorFile file in files)
        {
            DescriptorFile added = file.Renamed(renamed) is { } proto
                ? new DescriptorFile(proto.ToByteString(), proto, file.Origin)
                : file;
            _files.TryAdd(added.Name, added);
        }

        _rootFiles.AddRange(rootFiles.Select(r => renamed.GetValueOrDefault(r, r)).Except(_rootFiles));
    }

    private static bool IsWellKnown(FileDescriptorProto file) =>
        file.Package == "google.protobuf" && WellKnownFiles.Contains(file.Name);

    private static FileDescriptorProto WithoutSource(FileDescriptorProto file)
    {
        FileDescriptorProto copy = file.Clone();
        copy.SourceCodeInfo = null;
        return copy;
    }
}

/// <summary>Makes the strings of a serialized message UTF-8.</summary>
internal static class TextRepair
{
    // The nesting limit of parsers. They reject deeper messages.
    private const int MaxDepth = 100;

    /// <summary>Replaces bytes in strings that are not UTF-8 by U+FFFD.</summary>
    /// <exception cref="InvalidProtocolBufferException">The bytes are no message.</exception>
    public static ByteString Repair(ByteString message, MessageDescriptor type) => Repair(message, type, 0);

    private static ByteString Repair(ByteString message, MessageDescriptor type, int depth)
    {
        using MemoryStream repaired = new(message.Length);
        using CodedOutputStream output = new(repaired);
        using CodedInputStream input = message.CreateCodedInput();
        for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
        {
            FieldDescriptor? field = WireFormat.GetTagWireType(tag) == WireFormat.WireType.LengthDelimited
                ? type.FindFieldByNumber(WireFormat.GetTagFieldNumber(tag))
                : null;
            if (field?.FieldType == FieldType.String)
            {
                output.WriteTag(tag);
                output.WriteString(input.ReadBytes().ToStringUtf8());
            }
            else if (field?.FieldType == FieldType.Message && depth < MaxDepth)
            {
                output.WriteTag(tag);
                output.WriteBytes(Repair(input.ReadBytes(), field.MessageType, depth + 1));
            }
            else
            {
                Copy(message, tag, input, output, repaired);
            }
        }

        output.Flush();
        return ByteString.CopyFrom(repaired.GetBuffer(), 0, (int)repaired.Length);
    }

    private static void Copy(
        ByteString message, uint tag, CodedInputStream input, CodedOutputStream output, MemoryStream repaired)
    {
        int start = (int)input.Position;
        input.SkipLastField();
        output.WriteTag(tag);
        output.Flush();
        repaired.Write(message.Span[start..(int)input.Position]);
    }
}
