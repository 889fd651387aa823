using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Checks the features of files before they are linked.</summary>
/// <remarks>
/// Google.Protobuf 3.36.2 merges the features of each element into a copy of those around it, and keeps each
/// different result in a table until the process ends. Anyone can write features with equal hash codes: a
/// file of 1 MB with 40,000 of them took a minute.
/// </remarks>
internal sealed class FeatureCost
{
    // Schemas that people write have some dozens, and set a few bytes on the way to an element.
    private const int MaxResults = 1000;
    private const int MaxBytes = 1000;

    // By what surrounds an element, and what it sets itself.
    private readonly Dictionary<(int Outer, string Own), int> _results = [];
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
        Result own = Merge(default, file.Options?.Features);
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

    // As deep as the parser of descriptors lets messages nest, which is 100.
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
        (int Outer, string Own) key = (outer.Id, Convert.ToBase64String(own.ToByteArray()));
        if (!_results.TryGetValue(key, out int id))
        {
            id = _results.Count + 1;
            Require(
                id <= MaxResults,
                $"the schema has more than {MaxResults} different combinations of features");
            _results.Add(key, id);
        }

        return new Result(id, bytes);
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

    // The features of an element: the same id, the same features.
    private readonly record struct Result(int Id, int Bytes);
}
