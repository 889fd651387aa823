using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Rejects files before they are linked, if Google.Protobuf 3.36.2 would need minutes, or hundreds
/// of times the memory of the files.</summary>
internal static class LinkCost
{
    // Google.Protobuf visits all fields of a message for each of its oneofs, and each optional field of
    // proto3 adds a oneof. This many steps take some seconds.
    private const long MaxOneofSteps = 1_000_000_000;

    // Google.Protobuf looks for a type name in each scope around the field, and in each imported file. This
    // many lookups need some seconds.
    private const long MaxLooks = 100_000_000;

    // Each element stores its full name, so a long message name counts for each of its fields. In real
    // schemas, full names have a few characters for each byte of the file.
    private const int CharactersPerByte = 16;
    private const long MaxCharacters = 16 * 1024 * 1024;

    // Numbers of fields and values are keys of dictionaries whose hash code is the number itself. Numbers
    // that are far apart can all collide, and each is then compared with all previous ones: this many need a
    // second.
    private const long MaxNumbersApart = 10_000;

    // A type with fewer numbers is never rejected, nor is one whose range of numbers is at most 64 times
    // their count.
    private const int AlwaysFine = 1000;
    private const int NumbersPerUsed = 64;

    /// <summary>Checks all files of a schema.</summary>
    /// <param name="sorted">The files; imports come before the files that import them, and public imports
    /// exist.</param>
    /// <exception cref="RpcException">InvalidArgument with the file that costs too much.</exception>
    public static void Check(IReadOnlyList<DescriptorFile> sorted)
    {
        CheckOneofs(sorted);
        CheckLooks(sorted);
        CheckFullNames(sorted);
        CheckNumbers(sorted);
    }

    private static void CheckNumbers(IReadOnlyList<DescriptorFile> sorted)
    {
        long steps = 0;
        foreach (DescriptorFile file in sorted)
        {
            steps += file.Proto.MessageType.Sum(NumberStepsIn) + file.Proto.EnumType.Sum(NumberStepsIn)
                + NumberStepsOf([.. file.Proto.Extension.Select(extension => extension.Number)]);
            if (steps > MaxNumbersApart * MaxNumbersApart)
            {
                throw SchemaError.Invalid(
                    $"{file.Name}: the numbers of fields, or of values of enums, are too many and too far "
                    + "apart to be linked. Use numbers that follow each other.");
            }
        }
    }

    private static void CheckOneofs(IReadOnlyList<DescriptorFile> sorted)
    {
        long steps = 0;
        foreach (DescriptorFile file in sorted)
        {
            steps += file.Proto.MessageType.Sum(StepsIn);
            if (steps > MaxOneofSteps)
            {
                throw SchemaError.Invalid(
                    $"{file.Name}: its messages have too many oneofs, or fields that are optional, to be "
                    + "linked. Split the largest messages.");
            }
        }
    }

    private static void CheckLooks(IReadOnlyList<DescriptorFile> sorted)
    {
        // For each file: the number of files that an importing file sees, which are itself and its public
        // imports.
        Dictionary<string, long> shown = new(StringComparer.Ordinal);
        long looks = 0;
        foreach (DescriptorFile file in sorted)
        {
            IList<string> imports = file.Proto.Dependency;
            long isPublic = 1 + file.Proto.PublicDependency.Sum(index => shown[imports[index]]);
            shown[file.Name] = Math.Min(isPublic, sorted.Count);
            looks += Math.Min(1 + imports.Sum(import => shown[import]), sorted.Count) * LooksIn(file.Proto);
            if (looks > MaxLooks)
            {
                throw SchemaError.Invalid(
                    $"{file.Name}: it names too many types, by parts of their names or through too many "
                    + "imports, to be linked. Write the full names of types, with a dot before them.");
            }
        }
    }

    private static void CheckFullNames(IReadOnlyList<DescriptorFile> sorted)
    {
        long most = Math.Max(MaxCharacters, sorted.Sum(file => (long)file.Bytes.Length) * CharactersPerByte);
        long sum = 0;
        foreach (DescriptorFile file in sorted)
        {
            int package = file.Proto.Package.Length;
            sum += file.Proto.MessageType.Sum(message => FullNamesIn(message, package))
                + file.Proto.EnumType.Sum(type => FullNamesIn(type, package))
                + file.Proto.Service.Sum(service =>
                    (package + (long)service.Name.Length) * (1 + service.Method.Count));
            if (sum > most)
            {
                throw SchemaError.Invalid(
                    $"{file.Name}: the full names of its elements have too many characters. Shorten the "
                    + "names of the messages and enums with most elements.");
            }
        }
    }

    private static long LooksIn(FileDescriptorProto file)
    {
        int scopes = file.Package.Length == 0 ? 1 : file.Package.AsSpan().Count('.') + 2;
        return file.MessageType.Sum(message => LooksIn(message, scopes + 1))
            + file.Extension.Sum(extension => LooksFor(extension, scopes))
            + file.Service.SelectMany(service => service.Method).Sum(
                method => LooksFor(method.InputType, scopes + 1) + LooksFor(method.OutputType, scopes + 1));
    }

    private static long LooksIn(DescriptorProto message, int scopes) =>
        message.Field.Concat(message.Extension).Sum(field => LooksFor(field, scopes))
        + message.NestedType.Sum(nested => LooksIn(nested, scopes + 1));

    private static long LooksFor(FieldDescriptorProto field, int scopes) =>
        LooksFor(field.TypeName, scopes) + LooksFor(field.Extendee, scopes);

    private static long LooksFor(string name, int scopes) =>
        name.Length == 0 ? 0 : name[0] == '.' ? 1 : scopes;

    private static long StepsIn(DescriptorProto message) =>
        ((long)message.OneofDecl.Count * message.Field.Count) + message.NestedType.Sum(StepsIn);

    private static long NumberStepsIn(DescriptorProto message) =>
        NumberStepsOf([.. message.Field.Select(field => field.Number)])
        + NumberStepsOf([.. message.Extension.Select(extension => extension.Number)])
        + message.EnumType.Sum(NumberStepsIn)
        + message.NestedType.Sum(NumberStepsIn);

    private static long NumberStepsIn(EnumDescriptorProto type) =>
        NumberStepsOf([.. type.Value.Select(value => value.Number)]);

    private static long NumberStepsOf(int[] numbers) =>
        numbers.Length <= AlwaysFine
        || (long)numbers.Max() - numbers.Min() <= (long)numbers.Length * NumbersPerUsed
            ? 0
            : (long)numbers.Length * numbers.Length;

    private static long FullNamesIn(DescriptorProto message, long outer)
    {
        long name = outer + 1 + message.Name.Length;
        return (name * (1 + message.Field.Count + message.Extension.Count + message.OneofDecl.Count))
            + message.NestedType.Sum(nested => FullNamesIn(nested, name))
            + message.EnumType.Sum(type => FullNamesIn(type, name));
    }

    private static long FullNamesIn(EnumDescriptorProto type, long outer) =>
        (outer + 1 + type.Name.Length) * (1 + type.Value.Count);
}

/// <summary>Checks the features of files before they are linked.</summary>
/// <remarks>
/// Google.Protobuf 3.36.2 merges the features of each element into a copy of those around it, and keeps each
/// different result in a table until the process ends. Anyone can write features with equal hash codes: a
/// file of 1 MB with 40,000 of them took a minute.
/// </remarks>
internal sealed class FeatureCost
{
    // Real schemas have some dozens of results, and set a few bytes of features for an element.
    private const int MaxResults = 1000;
    private const int MaxBytes = 1000;

    // The key consists of the features around an element, and those that the element sets.
    private readonly Dictionary<string, Result> _results = new(StringComparer.Ordinal);
    private string _file = "";

    /// <summary>Checks all files of a schema.</summary>
    /// <exception cref="RpcException">InvalidArgument with the file whose features cost too much.</exception>
    public static void Check(IEnumerable<DescriptorFile> files)
    {
        FeatureCost cost = new();
        foreach (DescriptorFile file in files)
        {
            cost._file = file.Name;
            cost.CheckFile(file.Proto);
        }
    }

    private void CheckFile(FileDescriptorProto file)
    {
        Result own = Merge(new Result(0, 0), file.Options?.Features);
        CheckEnums(file.EnumType, own);
        CheckFields(file.Extension, own);
        foreach (DescriptorProto message in file.MessageType)
        {
            CheckMessage(message, own);
        }

        foreach (ServiceDescriptorProto service in file.Service)
        {
            Result inside = Merge(own, service.Options?.Features);
            foreach (MethodDescriptorProto method in service.Method)
            {
                Merge(inside, method.Options?.Features);
            }
        }
    }

    // The recursion is limited by the parser of descriptors, which rejects more than 100 levels.
    private void CheckMessage(DescriptorProto message, Result outer)
    {
        Result own = Merge(outer, message.Options?.Features);
        Result[] oneofs = [.. message.OneofDecl.Select(oneof => Merge(own, oneof.Options?.Features))];
        foreach (FieldDescriptorProto field in message.Field)
        {
            bool isInOneof = field.HasOneofIndex && (uint)field.OneofIndex < (uint)oneofs.Length;
            Merge(isInOneof ? oneofs[field.OneofIndex] : own, field.Options?.Features);
        }

        CheckFields(message.Extension, own);
        CheckEnums(message.EnumType, own);
        foreach (DescriptorProto nested in message.NestedType)
        {
            CheckMessage(nested, own);
        }
    }

    private void CheckFields(IEnumerable<FieldDescriptorProto> fields, Result outer)
    {
        foreach (FieldDescriptorProto field in fields)
        {
            Merge(outer, field.Options?.Features);
        }
    }

    private void CheckEnums(IEnumerable<EnumDescriptorProto> enums, Result outer)
    {
        foreach (EnumDescriptorProto type in enums)
        {
            Result own = Merge(outer, type.Options?.Features);
            foreach (EnumValueDescriptorProto value in type.Value)
            {
                Merge(own, value.Options?.Features);
            }
        }
    }

    private Result Merge(Result outer, FeatureSet? own)
    {
        if (own is null)
        {
            return outer;
        }

        int bytes = outer.Bytes + own.CalculateSize();
        Require(bytes <= MaxBytes, $"the features of an element have more than {MaxBytes} bytes");
        string key = $"{outer.Id} {Convert.ToBase64String(own.ToByteArray())}";
        if (!_results.TryGetValue(key, out Result? result))
        {
            int id = _results.Count + 1;
            Require(
                id <= MaxResults,
                $"the schema has more than {MaxResults} different combinations of features");
            _results.Add(key, result = new Result(id, bytes));
        }

        return result;
    }

    private void Require(bool holds, string what)
    {
        if (!holds)
        {
            throw SchemaError.Invalid(
                $"{_file}: {what}, which is too much to be linked. Do not use a schema from a source that "
                + "you do not trust.");
        }
    }

    // Elements with the same id have the same features. A class, because the runtime compiles code for arrays
    // of a struct when it first runs.
    private sealed record Result(int Id, int Bytes);
}
