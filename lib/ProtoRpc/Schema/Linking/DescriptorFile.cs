using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>A file that is not linked yet.</summary>
/// <param name="Bytes">The serialized FileDescriptorProto.</param>
/// <param name="Proto">The same, parsed.</param>
/// <param name="Origin">Where it came from, for error messages.</param>
internal sealed record DescriptorFile(ByteString Bytes, FileDescriptorProto Proto, string Origin)
{
    public string Name => Proto.Name;

    /// <summary>Parses a FileDescriptorProto.</summary>
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

    // protoc copies comments of any encoding, and defaults of proto2; the parser takes UTF-8 alone.
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

    /// <summary>A copy of the parsed file with its new name and those of what it imports, or null when none
    /// of them has a new one.</summary>
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
