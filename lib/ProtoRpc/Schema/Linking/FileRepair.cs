using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Changes the files of a server so that they can be linked: adds missing imports, removes duplicate
/// declarations, and declares empty types for missing ones.</summary>
/// <remarks>Servers have files without imports (Node's @grpc/reflection, grpc-node issue 2595), with imports
/// by other names, with files that only options need, and with files that import each other. Only the names
/// of types count here, not the imports.</remarks>
internal sealed class FileRepair
{
    // Limits the cost of looking up relative names: the sum of the lengths of the names that are looked up.
    private const long MaxLooked = 1_000_000_000;

    // An error shows at most this many files that may declare a missing type.
    private const int Shown = 3;
    private const int MaxShownName = 200;

    private readonly List<RepairedFile> _files = [];
    private readonly Dictionary<string, RepairedFile> _byName = new(StringComparer.Ordinal);

    // The declaration that contains each type and service. A nested type belongs to its outermost
    // declaration.
    private readonly Dictionary<string, Declaration> _declared = new(StringComparer.Ordinal);
    private readonly Dictionary<string, DescriptorProto> _messages = new(StringComparer.Ordinal);
    private readonly HashSet<(string Extendee, int Number)> _extensions = [];
    private readonly HashSet<string> _packages = new(StringComparer.Ordinal);
    private readonly Dictionary<string, MissingType> _missing = new(StringComparer.Ordinal);
    private readonly List<string> _warnings = [];
    private string[]? _absentImports;
    private long _looked;

    private FileRepair(IReadOnlyList<DescriptorFile> files)
    {
        foreach (DescriptorFile file in WellKnownFiles.AddMissing(RpcMessageLinks.AddMissing(files)))
        {
            Declare(new RepairedFile(file));
        }

        foreach (DescriptorFile file in WellKnownFiles.All.Where(file => !_byName.ContainsKey(file.Name)))
        {
            Declare(new RepairedFile(file) { IsOptional = true });
        }

        foreach (RepairedFile file in _files)
        {
            Resolve(file);
        }
    }

    /// <summary>The full names of the types that no file declares.</summary>
    public static IReadOnlyList<string> FindMissing(IReadOnlyList<DescriptorFile> files) =>
        [.. new FileRepair(files)._missing.Keys];

    /// <summary>Repairs files.</summary>
    /// <param name="files">The files; each has its own name.</param>
    /// <param name="undescribed">Services that get an empty declaration, and why.</param>
    /// <param name="began">Receives the file of the server that is at fault if this fails; null for
    /// none.</param>
    /// <exception cref="RpcException">InvalidArgument: a file cannot be repaired.</exception>
    public static RepairedFiles Repair(
        IReadOnlyList<DescriptorFile> files, IReadOnlyDictionary<string, string> undescribed,
        Action<string?> began)
    {
        FileRepair repair = new(files);
        repair.AddMissing(began);
        Dictionary<string, string> services = repair.AddServices(undescribed);
        List<RepairedFile> acyclic = ImportCircles.Break(repair._files, began);
        HashSet<RepairedFile> needed = [.. acyclic.Where(file => !file.IsOptional)];
        Queue<RepairedFile> unread = new(needed);
        while (unread.TryDequeue(out RepairedFile? file))
        {
            foreach (RepairedFile import in file.Needs.Where(needed.Add))
            {
                unread.Enqueue(import);
            }
        }

        return new RepairedFiles(
            [.. acyclic.Where(needed.Contains).Select(file => file.Create())],
            acyclic.ToDictionary(file => file.Proto.Name, file => file.Blamed, StringComparer.Ordinal),
            repair._missing.ToDictionary(type => type.Key, type => type.Value.Reason, StringComparer.Ordinal),
            services,
            repair._warnings);
    }

    private void Declare(RepairedFile file)
    {
        FileDescriptorProto proto = file.Proto;
        _files.Add(file);
        _byName.TryAdd(proto.Name, file);
        for (string scope = proto.Package; scope.Length > 0 && _packages.Add(scope);
            scope = scope[..Math.Max(0, scope.LastIndexOf('.'))])
        {
        }

        Declare(file, proto.MessageType, message => message.Name);
        Declare(file, proto.EnumType, type => type.Name);
        Declare(file, proto.Service, service => service.Name);
        foreach (FieldDescriptorProto extension in proto.Extension)
        {
            file.Declarations.Add(new Declaration(file, extension));
        }
    }

    private void Declare<T>(RepairedFile file, IList<T> elements, Func<T, string> nameOf)
        where T : IMessage
    {
        List<T> kept = [];
        foreach (T element in elements)
        {
            string name = DescriptorFile.FullName(file.Proto.Package, nameOf(element));
            Declaration declaration = new(file, element);
            if (_declared.TryGetValue(name, out Declaration? first))
            {
                // The well-known files grow with each release of Protocol Buffers; the first copy is used for
                // all files.
                if (!file.IsOptional && file.Proto.Package != "google.protobuf"
                    && !first.Element.Equals(element))
                {
                    _warnings.Add(
                        $"'{name}' is declared differently in '{first.File.Proto.Name}' and in "
                        + $"'{file.Proto.Name}'. The first one is used.");
                }

                continue;
            }

            kept.Add(element);
            _declared.Add(name, declaration);
            file.Declarations.Add(declaration);
            if (element is DescriptorProto message)
            {
                DeclareNested(declaration, message, name);
            }
        }

        file.Reduce(elements, kept);
    }

    private void DeclareNested(Declaration declaration, DescriptorProto message, string name)
    {
        _messages.TryAdd(name, message);
        foreach (DescriptorProto nested in message.NestedType)
        {
            string full = $"{name}.{nested.Name}";
            _declared.TryAdd(full, declaration);
            DeclareNested(declaration, nested, full);
        }

        foreach (EnumDescriptorProto nested in message.EnumType)
        {
            _declared.TryAdd($"{name}.{nested.Name}", declaration);
        }
    }

    private void Resolve(RepairedFile file)
    {
        string package = file.Proto.Package;
        List<FieldDescriptorProto> extensions = [];
        foreach (Declaration declaration in file.Declarations)
        {
            switch (declaration.Element)
            {
                case DescriptorProto message:
                    Resolve(declaration, message, DescriptorFile.FullName(package, message.Name));
                    break;
                case FieldDescriptorProto extension:
                    if (ResolveExtension(declaration, extension, package))
                    {
                        extensions.Add(extension);
                    }

                    break;
                case ServiceDescriptorProto service:
                    string scope = DescriptorFile.FullName(package, service.Name);
                    foreach (MethodDescriptorProto method in service.Method)
                    {
                        method.InputType = Resolve(declaration, method.InputType, scope, isEnum: false);
                        method.OutputType = Resolve(declaration, method.OutputType, scope, isEnum: false);
                    }

                    break;
            }
        }

        if (file.Reduce(file.Proto.Extension, extensions))
        {
            HashSet<IMessage> kept = new(extensions, ReferenceEqualityComparer.Instance);
            file.Declarations.RemoveAll(
                declaration => declaration.Element is FieldDescriptorProto
                    && !kept.Contains(declaration.Element));
        }
    }

    private void Resolve(Declaration declaration, DescriptorProto message, string scope)
    {
        foreach (FieldDescriptorProto field in message.Field)
        {
            ResolveType(declaration, field, scope);
        }

        declaration.File.Reduce(
            message.Extension,
            [.. message.Extension.Where(extension => ResolveExtension(declaration, extension, scope))]);

        foreach (DescriptorProto nested in message.NestedType)
        {
            Resolve(declaration, nested, $"{scope}.{nested.Name}");
        }
    }

    // Omits an extension of an unknown message, because no message can contain it. Also omits an extension of
    // options whose type is missing, because only that option is lost.
    private bool ResolveExtension(Declaration declaration, FieldDescriptorProto extension, string scope)
    {
        if (Find(extension.Extendee, scope) is not { } extendee
            || (IsOfOptions(extendee) && extension.TypeName.Length > 0
                && Find(extension.TypeName, scope) is null)
            || !_extensions.Add((extendee, extension.Number)))
        {
            return false;
        }

        extension.Extendee = Resolve(declaration, extension.Extendee, scope, isEnum: false);
        ResolveType(declaration, extension, scope);
        return true;
    }

    private void ResolveType(Declaration declaration, FieldDescriptorProto field, string scope)
    {
        bool isEnum = field.Type == FieldDescriptorProto.Types.Type.Enum;
        if (field.TypeName.Length == 0)
        {
            return;
        }

        int before = _missing.Count;
        field.TypeName = Resolve(declaration, field.TypeName, scope, isEnum);
        if (isEnum && (_missing.Count > before || _missing.ContainsKey(field.TypeName[1..])))
        {
            // The default is the name of a value, which the substitute for a missing enum does not declare.
            field.ClearDefaultValue();
        }
    }

    // Returns the full name with a leading dot, which does not depend on the scope.
    private string Resolve(Declaration declaration, string name, string scope, bool isEnum)
    {
        if (Find(name, scope) is { } found)
        {
            declaration.Needs.Add(_declared[found]);
            return $".{found}";
        }

        string full = name.StartsWith('.') ? name[1..]
            : name.Contains('.') ? name
            : DescriptorFile.FullName(declaration.File.Proto.Package, name);
        if (!_missing.TryGetValue(full, out MissingType? type))
        {
            _missing.Add(full, type = new MissingType(full, isEnum, ReasonFor(full, declaration.File)));
        }

        type.Needing.Add(declaration);
        return $".{full}";
    }

    private string? Find(string name, string scope)
    {
        if (name.StartsWith('.'))
        {
            return _declared.ContainsKey(name[1..]) ? name[1..] : null;
        }

        for (string around = scope; around.Length > 0;
            around = around[..Math.Max(0, around.LastIndexOf('.'))])
        {
            string full = $"{around}.{name}";
            _looked += full.Length;
            if (_looked > MaxLooked)
            {
                throw SchemaError.Invalid(
                    "The files name too many types by parts of their names to be linked. "
                    + "Write the full names of types, with a dot before them.");
            }

            if (_declared.ContainsKey(full))
            {
                return full;
            }
        }

        return _declared.ContainsKey(name) ? name : null;
    }

    // The likely reason: a missing import in the folder of the type's package, otherwise any missing import.
    private string ReasonFor(string type, RepairedFile file)
    {
        file.AbsentImports ??= AbsentOf(file.Source.Proto.Dependency);
        string[] absent = file.AbsentImports.Length > 0
            ? file.AbsentImports
            : _absentImports ??= AbsentOf(_files.SelectMany(other => other.Source.Proto.Dependency));
        string folder = type[..Math.Max(0, type.LastIndexOf('.'))].Replace('.', '/');
        string[] missing = folder.Length > 0 && Below(absent, $"{folder}/") is { Length: > 0 } near
            ? near
            : [.. absent.Take(Shown + 1)];
        return missing switch
        {
            [] => $"No file of the server declares '{type}'.",
            [string only] => $"The server does not return '{NameOf(only)}', which declares '{type}'.",
            _ => $"No file of the server declares '{type}'. The server does not return "
                + $"{string.Join(", ", missing.Take(Shown).Select(import => $"'{NameOf(import)}'"))}"
                + (missing.Length > Shown ? " and others." : "."),
        };
    }

    // Every missing type has its own text, and a hostile name can have megabytes, so it is shortened.
    private static string NameOf(string import) => TerminalText.OneLine(import, MaxShownName);

    // The imports that no file declares, sorted for a binary search: a file can have as many missing types as
    // imports, so comparing all pairs would need quadratic time.
    private string[] AbsentOf(IEnumerable<string> imports) =>
    [
        .. imports.Where(import => !_byName.ContainsKey(import)).Distinct(StringComparer.Ordinal)
            .Order(StringComparer.Ordinal),
    ];

    // The first sorted names in a folder.
    private static string[] Below(string[] sorted, string folder)
    {
        int found = Array.BinarySearch(sorted, folder, StringComparer.Ordinal);
        return
        [
            .. sorted.Skip(found < 0 ? ~found : found).Take(Shown + 1)
                .TakeWhile(name => name.StartsWith(folder, StringComparison.Ordinal)),
        ];
    }

    private void AddMissing(Action<string?> began)
    {
        foreach (MissingType type in _missing.Values.OrderBy(type => type.FullName.Length).ToArray())
        {
            // Errors from here on are reported for the file that uses the type.
            began(type.Needing.First().File.Blamed);
            string full = type.FullName;
            if (!NameCheck.IsFullName(full) || _packages.Contains(full))
            {
                throw SchemaError.Invalid($"'{full}' is not the name of a type.");
            }

            int dot = full.LastIndexOf('.');
            string outer = full[..Math.Max(0, dot)];
            string name = full[(dot + 1)..];
            IMessage element = type.IsEnum
                ? new EnumDescriptorProto
                {
                    Name = name,
                    Value = { new EnumValueDescriptorProto { Name = $"{name}_IS_MISSING", Number = 0 } },
                }
                : new DescriptorProto { Name = name };
            Declaration declared;
            if (_messages.TryGetValue(outer, out DescriptorProto? parent))
            {
                declared = _declared[outer];
                declared.File.IsReduced = true;
                Add(element, parent.NestedType, parent.EnumType);
            }
            else if (_declared.ContainsKey(outer))
            {
                throw SchemaError.Invalid($"'{full}' is not the name of a type, because '{outer}' is one.");
            }
            else
            {
                RepairedFile file = Substitute(outer, type.Needing.First().File.Blamed);
                file.Comment(
                    [
                        type.IsEnum
                            ? FileDescriptorProto.EnumTypeFieldNumber
                            : FileDescriptorProto.MessageTypeFieldNumber,
                        type.IsEnum ? file.Proto.EnumType.Count : file.Proto.MessageType.Count,
                    ],
                    type.Reason);
                Add(element, file.Proto.MessageType, file.Proto.EnumType);
                file.Declarations.Add(declared = new Declaration(file, element));
            }

            _declared.TryAdd(full, declared);
            if (element is DescriptorProto message)
            {
                _messages.TryAdd(full, message);
            }

            foreach (Declaration needing in type.Needing)
            {
                needing.Needs.Add(declared);
            }
        }

        began(null);
    }

    private static void Add(
        IMessage element, ICollection<DescriptorProto> messages, ICollection<EnumDescriptorProto> enums)
    {
        if (element is DescriptorProto message)
        {
            messages.Add(message);
        }
        else
        {
            enums.Add((EnumDescriptorProto)element);
        }
    }

    // Declares a service that the server lists, but whose file is missing or cannot be linked.
    private Dictionary<string, string> AddServices(IReadOnlyDictionary<string, string> undescribed)
    {
        Dictionary<string, string> added = new(StringComparer.Ordinal);
        foreach ((string full, string reason) in undescribed)
        {
            int dot = full.LastIndexOf('.');
            string package = full[..Math.Max(0, dot)];
            if (!NameCheck.IsFullName(full) || _declared.ContainsKey(full) || _packages.Contains(full)
                || HasTypeAround(full))
            {
                _warnings.Add($"A service is listed, but its name cannot be used: '{full}'.");
                continue;
            }

            RepairedFile file = Substitute(package, "");
            file.Comment([FileDescriptorProto.ServiceFieldNumber, file.Proto.Service.Count], reason);
            ServiceDescriptorProto service = new() { Name = full[(dot + 1)..] };
            file.Proto.Service.Add(service);
            Declaration declaration = new(file, service);
            file.Declarations.Add(declaration);
            _declared.Add(full, declaration);
            added.Add(full, reason);
        }

        return added;
    }

    private bool HasTypeAround(string name)
    {
        for (int dot = name.LastIndexOf('.'); dot > 0; dot = name.LastIndexOf('.', dot - 1))
        {
            if (_declared.ContainsKey(name[..dot]))
            {
                return true;
            }
        }

        return false;
    }

    // Returns the file that declares the substitutes for the missing elements of a package.
    private RepairedFile Substitute(string package, string blamed)
    {
        string name = DescriptorFile.FreeName(
            package.Length == 0 ? "types.proto" : $"{package}.proto", "missing",
            taken => _byName.TryGetValue(taken, out RepairedFile? other) && !other.IsSubstitute);
        if (!_byName.TryGetValue(name, out RepairedFile? file))
        {
            FileDescriptorProto proto = new() { Name = name, Package = package, Syntax = "proto3" };
            file = new RepairedFile(new DescriptorFile(ByteString.Empty, proto, $"'{name}'"))
            {
                IsSubstitute = true,
                Blamed = blamed,
            };
            Declare(file);
        }

        return file;
    }

    private static bool IsOfOptions(string message) =>
        message.StartsWith("google.protobuf.", StringComparison.Ordinal)
        && message.EndsWith("Options", StringComparison.Ordinal);

    private sealed record MissingType(string FullName, bool IsEnum, string Reason)
    {
        public HashSet<Declaration> Needing { get; } = [];
    }
}
