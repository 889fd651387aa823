using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

namespace ProtoRpc.Tests.Architecture;

/// <summary>Reads the types of an assembly, with their folders, from its metadata and its portable
/// PDB.</summary>
internal sealed class AssemblyTypes
{
    // The compiler writes down the files of a type that has no code, such as an enum.
    private static readonly Guid TypeDocuments = new("932E74BC-DBA9-4478-8D46-0F32A7BAB3D3");

    private readonly MetadataReader _types;
    private readonly MetadataReader _symbols;
    private readonly PEReader _file;
    private readonly TypeNames _names;
    private readonly string _project;

    private AssemblyTypes(PEReader file, MetadataReader symbols, string project)
    {
        _file = file;
        _types = file.GetMetadataReader();
        _symbols = symbols;
        _project = project;
        _names = new TypeNames(_types, _types.GetString(_types.GetAssemblyDefinition().Name));
    }

    /// <param name="path">The assembly; its PDB is beside it.</param>
    /// <param name="project">The folder of its project in the repository, such as 'lib/ProtoRpc'.</param>
    public static IReadOnlyList<CodeType> Read(string path, string project)
    {
        using PEReader file = new(File.OpenRead(path));
        using MetadataReaderProvider symbols = MetadataReaderProvider.FromPortablePdbStream(
            File.OpenRead(Path.ChangeExtension(path, ".pdb")));
        return new AssemblyTypes(file, symbols.GetMetadataReader(), project).Read();
    }

    private IReadOnlyList<CodeType> Read()
    {
        Dictionary<TypeDefinitionHandle, (HashSet<string> Files, HashSet<TypeName> Uses)> read = [];
        foreach (TypeDefinitionHandle handle in _types.TypeDefinitions)
        {
            TypeDefinitionHandle outer = _names.OutermostOf(handle);
            if (!read.TryGetValue(outer, out (HashSet<string> Files, HashSet<TypeName> Uses) into))
            {
                read[outer] = into = ([], []);
            }

            _names.Found = into.Uses;
            AddUses(_types.GetTypeDefinition(handle));
            into.Files.UnionWith(DocumentsOf(handle).Select(FileOf).OfType<string>());
        }

        return [.. read.Select(type => new CodeType(
            _names.NameOf(type.Key).Assembly,
            _names.NameOf(type.Key).FullName,
            [.. type.Value.Files.Select(FolderOf).Distinct()],
            [.. type.Value.Files.Where(file => file != CodeType.Generated)],
            (_types.GetTypeDefinition(type.Key).Attributes & TypeAttributes.VisibilityMask)
                == TypeAttributes.Public,
            type.Value.Uses))];
    }

    private void AddUses(TypeDefinition type)
    {
        _names.Add(type.BaseType);
        _names.Add(type.GetCustomAttributes());
        Add(type.GetGenericParameters());
        foreach (InterfaceImplementationHandle handle in type.GetInterfaceImplementations())
        {
            _names.Add(_types.GetInterfaceImplementation(handle).Interface);
        }

        foreach (FieldDefinitionHandle handle in type.GetFields())
        {
            _names.Add(handle);
            _names.Add(_types.GetFieldDefinition(handle).GetCustomAttributes());
        }

        foreach (PropertyDefinitionHandle handle in type.GetProperties())
        {
            _names.Add(_types.GetPropertyDefinition(handle).GetCustomAttributes());
        }

        foreach (EventDefinitionHandle handle in type.GetEvents())
        {
            _names.Add(_types.GetEventDefinition(handle).GetCustomAttributes());
        }

        foreach (MethodDefinitionHandle handle in type.GetMethods())
        {
            _names.Add(handle);
            AddUses(_types.GetMethodDefinition(handle));
        }
    }

    private void AddUses(MethodDefinition method)
    {
        _names.Add(method.GetCustomAttributes());
        Add(method.GetGenericParameters());
        foreach (ParameterHandle handle in method.GetParameters())
        {
            _names.Add(_types.GetParameter(handle).GetCustomAttributes());
        }

        if (method.RelativeVirtualAddress == 0)
        {
            return;
        }

        MethodBodyBlock body = _file.GetMethodBody(method.RelativeVirtualAddress);
        _names.Add(body.LocalSignature);
        foreach (ExceptionRegion region in body.ExceptionRegions)
        {
            _names.Add(region.CatchType);
        }

        foreach (EntityHandle token in MethodTokens.Of(body))
        {
            _names.Add(token);
        }
    }

    private void Add(GenericParameterHandleCollection parameters)
    {
        foreach (GenericParameterHandle handle in parameters)
        {
            foreach (GenericParameterConstraintHandle constraint
                in _types.GetGenericParameter(handle).GetConstraints())
            {
                _names.Add(_types.GetGenericParameterConstraint(constraint).Type);
            }
        }
    }

    private IEnumerable<string> DocumentsOf(TypeDefinitionHandle handle)
    {
        List<DocumentHandle> documents = [];
        foreach (CustomDebugInformationHandle information in _symbols.GetCustomDebugInformation(handle))
        {
            CustomDebugInformation entry = _symbols.GetCustomDebugInformation(information);
            BlobReader value = _symbols.GetBlobReader(entry.Value);
            while (_symbols.GetGuid(entry.Kind) == TypeDocuments && value.RemainingBytes > 0)
            {
                documents.Add(MetadataTokens.DocumentHandle(value.ReadCompressedInteger()));
            }
        }

        foreach (MethodDefinitionHandle method in _types.GetTypeDefinition(handle).GetMethods())
        {
            MethodDebugInformation debug = _symbols.GetMethodDebugInformation(method);
            documents.Add(debug.Document);
            if (!debug.SequencePointsBlob.IsNil)
            {
                documents.AddRange(debug.GetSequencePoints().Select(point => point.Document));
            }
        }

        return documents
            .Where(document => !document.IsNil)
            .Select(document => _symbols.GetString(_symbols.GetDocument(document).Name))
            .Distinct();
    }

    private static string FolderOf(string file) =>
        file == CodeType.Generated ? file : file[..Math.Max(file.LastIndexOf('/'), 0)];

    // The path is that of the machine which compiled, or one that a build server put in its place.
    private string? FileOf(string document)
    {
        string path = document.Replace('\\', '/');
        if (path.LastIndexOf($"/{_project}/", StringComparison.Ordinal) is >= 0 and int start)
        {
            return path[(start + _project.Length + 2)..];
        }

        return path.Contains("/obj/", StringComparison.Ordinal)
            && !path.EndsWith(".g.cs", StringComparison.Ordinal)
                ? CodeType.Generated
                : null;
    }
}
