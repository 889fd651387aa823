using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Adds to a schema the services that only another one has.</summary>
/// <remarks>If a file of the other schema contains declarations of this schema, they are removed, and the
/// file imports this schema's file publicly instead. So files that import it find the same names as
/// before.</remarks>
internal sealed class SchemaCompletion
{
    private readonly RpcSchema _schema;
    private readonly string _label;
    private readonly Dictionary<string, SchemaFile> _own;

    // The schema's file for each declared name.
    private readonly Dictionary<string, string> _declared = new(StringComparer.Ordinal);
    private readonly Dictionary<string, string> _renamed = new(StringComparer.Ordinal);

    /// <param name="schema">The schema, which does not change.</param>
    /// <param name="label">Goes before the name of a file of the other that differs from one of the
    /// schema.</param>
    public SchemaCompletion(RpcSchema schema, string label)
    {
        _schema = schema;
        _label = label;
        _own = schema.SchemaFiles.ToDictionary(file => file.Name, StringComparer.Ordinal);
        foreach (SchemaFile file in schema.SchemaFiles)
        {
            foreach (string name in NamesIn(file.Proto))
            {
                _declared.TryAdd(name, file.Name);
            }
        }
    }

    /// <summary>A schema with the services of both, and the warnings of the other.</summary>
    public RpcSchema Add(RpcSchema other)
    {
        if (_schema.Gaps is not null || other.Gaps is not null)
        {
            return ForgivingLinker.Link(ServerFiles.Merge(_schema, other, _label), CancellationToken.None);
        }

        SchemaFile[] further = [.. other.SchemaFiles.Where(file => !IsShared(file))];
        foreach (SchemaFile file in further)
        {
            if (_own.ContainsKey(file.Name) || NamesIn(file.Proto).Any(_declared.ContainsKey))
            {
                _renamed.Add(file.Name, DescriptorFile.FreeName(
                    file.Name, _label, name =>
                        _own.ContainsKey(name) || other.SchemaFiles.Any(f => f.Name == name)));
            }
        }

        Dictionary<string, DescriptorFile> files = further.Select(Without).ToDictionary(
            file => file.Name, StringComparer.Ordinal);
        string[] roots =
            [.. files.Values.Where(file => file.Proto.Service.Count > 0).Select(file => file.Name)];
        try
        {
            return new RpcSchema(
                DescriptorLinker.Link([.. _schema.SchemaFiles.Select(Unlinked), .. Needed(roots, files)]),
                [.. _schema.RootFiles, .. roots],
                other.Warnings);
        }
        catch (RpcException e)
        {
            throw new RpcException(
                e.Code, e.ErrorId,
                $"The services of the {_label} do not fit the schema, which declares one of their "
                + $"types differently: {e.Message} Update the schema, or use only one of the two.", e);
        }
    }

    private bool IsShared(SchemaFile file) => _own.TryGetValue(file.Name, out SchemaFile? own)
        && DescriptorFileMerge.IsSame(Unlinked(own), Unlinked(file));

    // Returns a file of the other schema without the declarations that this schema also has.
    private DescriptorFile Without(SchemaFile file)
    {
        DescriptorFile whole = Unlinked(file);
        if (whole.Renamed(_renamed) is not { } proto)
        {
            return whole;
        }

        foreach (string name in NamesIn(file.Proto))
        {
            if (_declared.TryGetValue(name, out string? import))
            {
                proto.ImportPublicly(import);
            }
        }

        Keep(proto.MessageType, message => message.Name);
        Keep(proto.EnumType, type => type.Name);
        Keep(proto.Service, service => service.Name);
        Keep(proto.Extension, extension => extension.Name);

        // SourceCodeInfo refers to elements by their index, which has changed.
        proto.SourceCodeInfo = null;
        return new DescriptorFile(proto.ToByteString(), proto, whole.Origin);

        void Keep<T>(ICollection<T> all, Func<T, string> nameOf)
        {
            foreach (T known in all.Where(
                one => _declared.ContainsKey(FullName(proto, nameOf(one)))).ToArray())
            {
                all.Remove(known);
            }
        }
    }

    private static DescriptorFile Unlinked(SchemaFile file) => new(file.Bytes, file.Proto, $"'{file.Name}'");

    private static IEnumerable<string> NamesIn(FileDescriptorProto file) =>
        file.MessageType.Select(m => m.Name)
        .Concat(file.EnumType.Select(e => e.Name))
        .Concat(file.Service.Select(s => s.Name))
        .Concat(file.Extension.Select(e => e.Name))
        .Select(name => FullName(file, name));

    private static string FullName(FileDescriptorProto file, string name) =>
        DescriptorFile.FullName(file.Package, name);

    // Returns the files and their imports in the other schema.
    private static List<DescriptorFile> Needed(
        IEnumerable<string> roots, Dictionary<string, DescriptorFile> files)
    {
        Queue<string> queue = new(roots);
        HashSet<string> seen = [.. queue];
        List<DescriptorFile> needed = [];
        while (queue.TryDequeue(out string? name))
        {
            if (files.TryGetValue(name, out DescriptorFile? file))
            {
                needed.Add(file);
                foreach (string import in file.Proto.Dependency.Concat(file.Proto.OptionDependency)
                    .Where(seen.Add))
                {
                    queue.Enqueue(import);
                }
            }
        }

        return needed;
    }
}
